/** Sha256: the hash of a text, computed here in the browser and not taken on trust. */

/** The hash of a text's UTF-8 bytes; null where the browser has no hashing (plain HTTP, not localhost). */
export async function sha256(text) {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `sha256:${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** A hash short enough to read: its first twelve digits. */
export const brief = (hash) => (hash ?? "").replace(/^sha256:/, "").slice(0, 12);
