/** Announcer: says what changed to those who do not see it, once things have settled. */

const PAUSE = 400;
const place = document.getElementById("announcer");
let waiting = null;

/** Say a text; when several come in a row, only the last is said. */
export function announce(text) {
  clearTimeout(waiting);
  waiting = setTimeout(() => (place.textContent = text), PAUSE);
}
