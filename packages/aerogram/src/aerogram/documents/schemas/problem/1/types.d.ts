// problem, revision 1: aerogram schema problem --typescript

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

/** A problem: the registered members, then Aerogram's. */
export interface ProblemDetails {
  /** An absolute URI that names the class of problem */
  type?: string;
  title: string;
  /**
   * @minimum 400
   * @maximum 599
   */
  status: number;
  detail?: string | null;
  instance?: string | null;
  code?: string | null;
  kind?: ErrorKind | null;
  retryable?: boolean | null;
  retry_after?: number | null;
  remediation?: string | null;
  user_message?: string | null;
  documentation?: string | null;
  errors?: ProblemItem[] | null;
  details?: Record<string, unknown> | null;
  request_id?: string | null;
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

/** One of several faults of the same type, and where it is. */
export interface ProblemItem {
  detail?: string | null;
  /** JSON Pointer into the input */
  pointer?: string | null;
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
