/** Route: which view is shown and with what, as the part of the address after `#`. */

/** The route of an address: its view and its parameters. */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path.split("/")[0], params: new URLSearchParams(query) };
}

/** The address of a view with parameters; what is empty is left out. */
export function addressOf(view, params = {}) {
  const given = params instanceof URLSearchParams ? [...params] : Object.entries(params);
  const said = given.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(said).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** Note what a view shows in the address; only what `isStep` is a new step in the history, which keeps `state`. */
export function note(view, params, { state = null, isStep = false } = {}) {
  const address = addressOf(view, params);
  if (isStep) history.pushState(state, "", address);
  else if (address !== location.hash) history.replaceState(state, "", address);
}
