/** JSON: read and written to the last digit. A whole number that is too large for a Number is a BigInt. */

const LONG = /\d{16}/; // what has fewer digits, a Number holds

/** The value of a text; browsers that do not tell how a number was written round the large ones. */
export const parse = (text) => JSON.parse(text, LONG.test(text) ? exact : undefined);

/** The text of a value. */
export const write = (value, indent = 0) => JSON.stringify(value, plain, indent);

function exact(_name, value, context) {
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value);
  return isRounded && /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value;
}

const plain = (_name, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value);
