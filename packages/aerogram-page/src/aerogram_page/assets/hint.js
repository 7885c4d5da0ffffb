/** Hint: what a field means, said beside it on hover and on focus. */

const box = document.getElementById("hint");
let owner = null;

document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
document.addEventListener("scroll", () => owner && place(owner.getBoundingClientRect()), {
  passive: true,
  capture: true,
});

// a view that is drawn anew takes its nodes away without a word to the mouse
new MutationObserver(() => owner && !owner.isConnected && hide()).observe(document.body, {
  childList: true,
  subtree: true,
});

/** Let a node explain itself; it becomes reachable by keyboard. */
export function explain(node, text) {
  node.tabIndex = 0;
  node.classList.add("explained");
  for (const event of ["mouseenter", "focus"]) node.addEventListener(event, () => show(node, text));
  for (const event of ["mouseleave", "blur"]) node.addEventListener(event, hide);
  return node;
}

function show(node, text) {
  hide();
  owner = node;
  box.textContent = typeof text === "function" ? text() : text;
  box.hidden = false;
  node.setAttribute("aria-describedby", "hint");
  place(node.getBoundingClientRect());
}

function place(target) {
  const { width, height } = box.getBoundingClientRect();
  const left = Math.max(8, Math.min(target.left, innerWidth - width - 8));
  const below = target.bottom + 8;
  const top = below + height > innerHeight ? Math.max(8, target.top - height - 8) : below;
  box.style.setProperty("left", `${left}px`);
  box.style.setProperty("top", `${top}px`);
}

function hide() {
  box.hidden = true;
  owner?.removeAttribute("aria-describedby");
  owner = null;
}
