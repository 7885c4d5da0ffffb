/** Theme: light, dark, or as the system has it. */

import { lasting } from "./storage.js";

const KEPT = "aerogram.theme";

/** The themes, in the order in which a click goes through them. */
export const themes = ["auto", "light", "dark"];

/** The theme that was chosen. */
export const theme = () => themes.find((name) => name === lasting.get(KEPT)) ?? "auto";

/** Wear a theme, and remember it. */
export function wear(name) {
  lasting.set(KEPT, name);
  document.documentElement.dataset.theme = name;
}
