// response-v2, revision 1: aerogram schema response-v2 --typescript

/** The envelope of every reply. */
export type ResponseV2<T extends object = Record<string, unknown>> = Success<T> | Failure;

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

/** What a program needs to act on a failure; further members give context. */
export interface ErrorData {
  /** SCREAMING_SNAKE_CASE */
  error_code?: string | null;
  error_type?: ErrorKind | null;
  remediation?: string | null;
  details?: Record<string, unknown> | null;
  retry_after_seconds?: number | null;
  [k: string]: unknown;
}

/** A reply that failed. */
export interface Failure {
  success: false;
  data: ErrorData;
  error: string;
  meta: Meta;
}

export interface FidelityPart {
  level?: FidelityLevel | null;
  dropped_ids?: string[] | null;
  archive_hashes?: Record<string, string> | null;
  schema_version?: string | null;
  extra?: Record<string, unknown> | null;
}

/** Operational context under reserved keys; further keys may follow. */
export interface Meta {
  version: "response-v2";
  request_id?: string | null;
  warnings?: string[] | null;
  warning_details?: WarningDetail[] | null;
  pagination?: Pagination | null;
  rate_limit?: RateLimitState | null;
  telemetry?: TelemetryReadings | null;
  content_fidelity?: FidelityLevel | null;
  content_fidelity_schema_version?: string | null;
  dropped_content_ids?: string[] | null;
  content_archive_hashes?: Record<string, string> | null;
  aerogram?: AerogramExtension | null;
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

/** Where this page stands and the cursor of the next one. */
export interface Pagination {
  cursor?: string | null;
  has_more?: boolean | null;
  /** @minimum 0 */
  total_count?: number | null;
  /** @minimum 0 */
  page_size?: number | null;
  [k: string]: unknown;
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

/** What is left of the caller's allowance and when it resets. */
export interface RateLimitState {
  /** @minimum 0 */
  limit?: number | null;
  /** @minimum 0 */
  remaining?: number | null;
  reset_at?: string | number | null;
  retry_after?: number | null;
  [k: string]: unknown;
}

/** A reply that worked. */
export interface Success<T extends object = Record<string, unknown>> {
  success: true;
  data: T;
  error: null;
  meta: Meta;
}

export interface TelemetryPart {
  duration_ms?: number | null;
  cache_hit?: boolean | null;
  tokens_estimated?: number | null;
  tokens_used?: number | null;
  billable_units?: number | null;
  extra?: Record<string, unknown> | null;
}

/** Timing and cost of the operation. */
export interface TelemetryReadings {
  duration_ms?: number | null;
  cache_hit?: boolean | null;
  /** @minimum 0 */
  tokens_estimated?: number | null;
  /** @minimum 0 */
  tokens_used?: number | null;
  /** @minimum 0 */
  billable_units?: number | null;
  [k: string]: unknown;
}

/** A warning with its code, severity and context. */
export interface WarningDetail {
  code?: string | null;
  severity?: Severity | null;
  message: string;
  suggestion?: string | null;
  context?: Record<string, unknown> | null;
  [k: string]: unknown;
}

/** Where a body was translated from, and what the way back would not say again (see `aerogram.dialects.origin`). */
export interface _Origin {
  dialect: string;
  set?: {};
  drop?: string[];
}
