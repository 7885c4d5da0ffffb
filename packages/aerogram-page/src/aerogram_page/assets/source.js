/** Source: which reply a view is about, as its address says it. */

const FILTERS = ["category", "license", "path"];
const DAYS = ["after", "before"];

/** The source of an address: an opened reply, a failure, a vendor, or the answer to a question. */
export function sourceOf(params, context) {
  if (params.get("reply")) return { reply: params.get("reply") };
  if (params.get("failure")) return { failure: params.get("failure") };
  if (params.get("vendor"))
    return { call: { operation: "find_vendor_info", arguments: { vendor_name: params.get("vendor") } } };
  if (context.opened) return { reply: context.opened.id };
  return searchOf({
    query: params.get("q") || context.suggestion,
    filters: filtersOf(params),
    cursor: params.get("cursor"),
  });
}

/** A search; what is empty is not said. */
export function searchOf({ query, filters = {}, cursor = null, page_size = 10 }) {
  const given = { query, page_size, ...(Object.keys(filters).length && { filters }), ...(cursor && { cursor }) };
  return { call: { operation: "semantic_search", arguments: given } };
}

/** The filters that say something, as the tools take them. */
export function filtersOf(params) {
  const lists = FILTERS.filter((name) => params.get(name)).map((name) => [name, [params.get(name)]]);
  const days = DAYS.filter((name) => params.get(name)).map((name) => [name, params.get(name)]);
  return Object.fromEntries([...lists, ...days]);
}
