// standard-v2, revision 1: aerogram schema standard-v2 --typescript

export type EmptyReason = "no_match" | "filters_too_narrow" | "source_unavailable" | "license_blocked";

export type ErrorKind =
  | "validation"
  | "authentication"
  | "authorization"
  | "not_found"
  | "conflict"
  | "rate_limit"
  | "feature_flag"
  | "internal"
  | "unavailable";

export type FidelityLevel = "full" | "partial" | "summary" | "reference_only";

export type Severity = "info" | "warning" | "error";

export type ErrorCode =
  | "RATE_LIMITED"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "VALIDATION_ERROR"
  | "LICENSE_GATE_BLOCKED"
  | "QUOTA_EXCEEDED"
  | "INTEGRITY_ERROR"
  | "INTERNAL_ERROR";

export type ResponseStatus = "rich" | "sparse" | "empty" | "partial" | "error";

/** The body of every answer; its problem stands under `error` on the wire. */
export interface StandardResponse<T = unknown> {
  status: ResponseStatus;
  query_echo: QueryEcho;
  results: T[];
  citations: Citation[];
  warnings: (ResponseWarning | string)[];
  suggested_actions?: SuggestedAction[];
  empty_reason?: EmptyReason | null;
  retry_with?: Record<string, unknown> | null;
  error?: StandardError | null;
  meta: Meta;
  aerogram?: AerogramExtension | null;
  [k: string]: unknown;
}

export interface ActionPart {
  tool?: string | null;
  endpoint?: string | null;
  args?: Record<string, unknown> | null;
  extra?: Record<string, unknown> | null;
}

/** What the reply says and the contract has no word for. */
export interface AerogramExtension {
  data?: unknown;
  status?: ("ok" | "empty" | "partial" | "blocked" | "error") | null;
  problem?: ProblemPart | null;
  notices?: NoticePart[] | null;
  page?: PagePart | null;
  rate_limit?: RateLimitPart | null;
  telemetry?: TelemetryPart | null;
  fidelity?: FidelityPart | null;
  citations?: CitationPart[] | null;
  actions?: ActionPart[] | null;
  query_echo?: QueryEchoPart | null;
  empty_reason?: EmptyReason | null;
  retry_with?: Record<string, unknown> | null;
  message?: string | null;
  request_id?: string | null;
  operation?: string | null;
  timestamp?: string | null;
  client_tag?: string | null;
  extra?: Record<string, unknown> | null;
  box?: string | null;
  origin?: _Origin | null;
}

/** Where a part of the results comes from. */
export interface Citation {
  source_id?: string | null;
  source_url?: string | null;
  publisher?: string | null;
  title?: string | null;
  fetched_at?: string | null;
  checksum?: string | null;
  license?: string | null;
  /** JSON Pointers into this body */
  field_paths?: string[];
  verification_status?: string | null;
  [k: string]: unknown;
}

export interface CitationPart {
  source_id?: string | null;
  source_url?: string | null;
  publisher?: string | null;
  title?: string | null;
  fetched_at?: string | null;
  checksum?: string | null;
  license?: string | null;
  field_paths?: string[] | null;
  verification_status?: string | null;
  extra?: Record<string, unknown> | null;
}

export interface FidelityPart {
  level?: FidelityLevel | null;
  dropped_ids?: string[] | null;
  archive_hashes?: Record<string, string> | null;
  schema_version?: string | null;
  extra?: Record<string, unknown> | null;
}

/** Which request this answers, and what it cost. */
export interface Meta {
  request_id: string;
  api_version?: "v2";
  latency_ms?: number;
  /** @minimum 0 */
  billable_units?: number;
  client_tag?: string | null;
  [k: string]: unknown;
}

export interface NoticePart {
  message?: string | null;
  code?: string | null;
  severity?: Severity | null;
  suggestion?: string | null;
  context?: Record<string, unknown> | null;
  extra?: Record<string, unknown> | null;
}

export interface PagePart {
  cursor?: string | null;
  has_more?: boolean | null;
  total?: number | null;
  page_size?: number | null;
  extra?: Record<string, unknown> | null;
}

export interface ProblemPart {
  code?: string | null;
  message?: string | null;
  kind?: ErrorKind | null;
  retry?: ("yes" | "no" | "check") | null;
  title?: string | null;
  user_message?: string | null;
  remediation?: string | null;
  details?: Record<string, unknown> | null;
  retry_after?: number | null;
  documentation?: string | null;
}

/** The query as it was understood. */
export interface QueryEcho {
  normalized_input?: Record<string, unknown>;
  applied_filters?: Record<string, unknown>;
  unparsed_terms?: string[];
  [k: string]: unknown;
}

export interface QueryEchoPart {
  normalized_input?: Record<string, unknown> | null;
  applied_filters?: Record<string, unknown> | null;
  unparsed_terms?: string[] | null;
  extra?: Record<string, unknown> | null;
}

export interface RateLimitPart {
  limit?: number | null;
  remaining?: number | null;
  reset_at?: string | number | null;
  retry_after?: number | null;
  extra?: Record<string, unknown> | null;
}

/** Something that did not stop the reply but should be known. */
export interface ResponseWarning {
  code?: string | null;
  severity?: Severity | null;
  message: string;
  suggestion?: string | null;
  context?: Record<string, unknown> | null;
  [k: string]: unknown;
}

/** One of nine errors, for the user and for the developer. */
export interface StandardError {
  code: ErrorCode;
  user_message: string;
  developer_message: string;
  retryable: boolean;
  retry_after?: number | null;
  documentation?: string | null;
  [k: string]: unknown;
}

/** A follow-up call: a tool, or an endpoint, with its arguments. */
export interface SuggestedAction {
  tool?: string | null;
  endpoint?: string | null;
  args?: Record<string, unknown>;
  [k: string]: unknown;
}

export interface TelemetryPart {
  duration_ms?: number | null;
  cache_hit?: boolean | null;
  tokens_estimated?: number | null;
  tokens_used?: number | null;
  billable_units?: number | null;
  extra?: Record<string, unknown> | null;
}

/** Where a body was translated from, and what the way back would not say again (see `aerogram.dialects.origin`). */
export interface _Origin {
  dialect: string;
  set?: {};
  drop?: string[];
}
