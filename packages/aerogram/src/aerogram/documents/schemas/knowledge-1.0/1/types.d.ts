// knowledge-1.0, revision 1: aerogram schema knowledge-1.0 --typescript

export type SemanticSearchResponse = MCPResponseEnvelope<SemanticSearchResult[]>;

export type VendorInfoResponse = MCPResponseEnvelope<VendorInfoResult>;

export type SemanticSearchResult = SearchResultIDs | SearchResultMetadata | SearchResultPreview | SearchResultFull;

export type VendorInfoResult = VendorInfoIDs | VendorInfoMetadata | VendorInfoPreview | VendorInfoFull;

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

export type ResponseMode = "ids_only" | "metadata" | "preview" | "full";

export type ResponseStatus = "success" | "partial" | "error";

export type WarningLevel = "info" | "warning" | "error";

export interface MCPResponseEnvelope<T = unknown> {
  _metadata: ResponseMetadata;
  results: T;
  pagination?: PaginationMetadata | null;
  execution_context: ExecutionContext;
  warnings: ResponseWarning[];
  error?: ResponseError | null;
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

/** What the answer cost in tokens and time. */
export interface ExecutionContext {
  /** @minimum 0 */
  tokens_estimated: number;
  /** @minimum 0 */
  tokens_used?: number | null;
  cache_hit: boolean;
  execution_time_ms: number;
  request_id: string;
  [k: string]: unknown;
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
  severity?: WarningLevel | null;
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

/** Where this page stands; the cursor is empty on the last page. */
export interface PaginationMetadata {
  cursor: string;
  /**
   * @minimum 1
   * @maximum 50
   */
  page_size: number;
  has_more: boolean;
  /** @minimum 0 */
  total_available?: number | null;
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

/** The failure, with whatever helps to mend it (such as `allowed_fields`). */
export interface ResponseError {
  code: string;
  message: string;
  kind?: ErrorKind | null;
  retryable?: boolean | null;
  retry_after?: number | null;
  [k: string]: unknown;
}

/** What was asked, when, and how it went. */
export interface ResponseMetadata {
  operation: string;
  version: string;
  /** @format date-time */
  timestamp: string;
  request_id: string;
  status: ResponseStatus;
  message?: string | null;
  [k: string]: unknown;
}

/** A warning a client can act on. */
export interface ResponseWarning {
  level: WarningLevel;
  code: string;
  message: string;
  suggestion?: string | null;
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

/** What a search takes. */
export interface SearchRequest {
  /**
   * Search query
   * @minLength 1
   * @maxLength 500
   */
  query: string;
  /** Response detail level */
  response_mode?: ResponseMode;
  /**
   * Results per page
   * @minimum 1
   * @maximum 50
   */
  page_size?: number;
  /** Pagination cursor (base64 JSON) */
  cursor?: string | null;
  /** Field whitelist */
  fields?: string[] | null;
}

/** How far a result can be trusted; all three or none. */
export interface ConfidenceScore {
  /**
   * @minimum 0
   * @maximum 1
   */
  score_reliability: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  source_quality: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  recency: number;
}

/** Whether a better-ranked result says the same. */
export interface DeduplicationInfo {
  is_duplicate: boolean;
  similar_chunk_ids: number[];
  /**
   * @minimum 0
   * @maximum 1
   */
  confidence: number;
}

/** Why a result stands where it stands. */
export interface RankingContext {
  /**
   * @minimum 0
   * @maximum 100
   */
  percentile: number;
  explanation: string;
  score_method: "vector" | "bm25" | "hybrid";
}

/** The whole hit, with each score that went into its rank. */
export interface SearchResultFull {
  chunk_id: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  hybrid_score: number;
  /** @minimum 1 */
  rank: number;
  source_file: string;
  source_category?: string | null;
  /** @minimum 0 */
  chunk_index: number;
  /** @minimum 1 */
  total_chunks: number;
  confidence?: ConfidenceScore | null;
  ranking?: RankingContext | null;
  deduplication?: DeduplicationInfo | null;
  chunk_text: string;
  /**
   * @minimum 0
   * @maximum 1
   */
  similarity_score: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  bm25_score: number;
  score_type: string;
  context_header: string;
  /** @minimum 0 */
  chunk_token_count: number;
}

/** A hit by its id: enough to rank and to fetch. */
export interface SearchResultIDs {
  chunk_id: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  hybrid_score: number;
  /** @minimum 1 */
  rank: number;
}

/** Where the hit stands. */
export interface SearchResultMetadata {
  chunk_id: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  hybrid_score: number;
  /** @minimum 1 */
  rank: number;
  source_file: string;
  source_category?: string | null;
  /** @minimum 0 */
  chunk_index: number;
  /** @minimum 1 */
  total_chunks: number;
  confidence?: ConfidenceScore | null;
  ranking?: RankingContext | null;
  deduplication?: DeduplicationInfo | null;
}

/** How the hit begins. */
export interface SearchResultPreview {
  chunk_id: number;
  /**
   * @minimum 0
   * @maximum 1
   */
  hybrid_score: number;
  /** @minimum 1 */
  rank: number;
  source_file: string;
  source_category?: string | null;
  /** @minimum 0 */
  chunk_index: number;
  /** @minimum 1 */
  total_chunks: number;
  confidence?: ConfidenceScore | null;
  ranking?: RankingContext | null;
  deduplication?: DeduplicationInfo | null;
  /** @maxLength 200 */
  chunk_snippet: string;
  context_header: string;
}

/** A vendor's graph, up to its caps. */
export interface VendorInfoFull {
  vendor_name: string;
  /** @maxItems 100 */
  entities: Record<string, unknown>[];
  /** @maxItems 500 */
  relationships: Record<string, unknown>[];
  statistics: VendorStatistics;
}

/** A vendor's graph by its ids. */
export interface VendorInfoIDs {
  vendor_name: string;
  entity_ids: string[];
  relationship_ids: string[];
}

/** A vendor's graph in numbers. */
export interface VendorInfoMetadata {
  vendor_name: string;
  statistics: VendorStatistics;
  top_entities: Record<string, unknown>[];
  last_updated: string | null;
}

/** The head of a vendor's graph. */
export interface VendorInfoPreview {
  vendor_name: string;
  /** @maxItems 5 */
  entities: Record<string, unknown>[];
  /** @maxItems 5 */
  relationships: Record<string, unknown>[];
  statistics: VendorStatistics;
}

/** How much is known about a vendor, and of which kinds. */
export interface VendorStatistics {
  /** @minimum 0 */
  entity_count: number;
  /** @minimum 0 */
  relationship_count: number;
  entity_type_distribution: Record<string, number>;
  relationship_type_distribution: Record<string, number>;
}
