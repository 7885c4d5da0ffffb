// bare, revision 1: aerogram schema bare --typescript

export type JsonValue = unknown;

/** Any JSON value. */
export type Payload = JsonValue;
