/** Theme: light, dark, or as the system has it. */

const KEPT = "aerogram.theme";

/** The themes, in the order in which a click goes through them. */
export const themes = ["auto", "light", "dark"];

/** The theme that was chosen. */
export const theme = () => localStorage.getItem(KEPT) ?? "auto";

/** Wear a theme, and remember it. */
export function wear(name) {
  localStorage.setItem(KEPT, name);
  document.documentElement.dataset.theme = name;
}
