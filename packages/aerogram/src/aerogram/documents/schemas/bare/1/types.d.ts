// bare, revision 1: aerogram schema bare --typescript

/** Any JSON value. */
export type Payload = JsonValue;

export type JsonValue = unknown;
