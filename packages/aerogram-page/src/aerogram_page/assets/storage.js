/** Storage: what the browser keeps for the page. Where it keeps nothing, the page does while it is open. */

/** What stays when the window is closed: preferences. */
export const lasting = kept(() => localStorage);

/** What ends with the window: keys. */
export const passing = kept(() => sessionStorage);

function kept(find) {
  const here = new Map();
  return {
    get: (name) => tried(() => find().getItem(name)) ?? here.get(name) ?? null,
    set: (name, value) => {
      here.set(name, value);
      tried(() => find().setItem(name, value));
    },
  };
}

function tried(deed) {
  try {
    return deed();
  } catch {
    return null; // the reader has forbidden it, or there is no room
  }
}
