import type { JsonObject } from '../../message/json.ts';

/**
 * Events of the Responses API as servers really send them. Any field may be missing or null,
 * regardless of the specification.
 */
export interface WireEvent {
  readonly type?: string | null;
  /** `response` if a server that does not stream sent a whole reply. */
  readonly object?: string | null;
  readonly sequence_number?: number | null;
  readonly response?: WireResponse | null;
  readonly item?: WireItem | null;
  readonly item_id?: string | null;
  readonly output_index?: number | null;
  readonly content_index?: number | null;
  readonly summary_index?: number | null;
  /** A text in the events that we read; other events have objects. */
  readonly delta?: unknown;
  readonly text?: string | null;
  readonly refusal?: string | null;
  readonly arguments?: string | null;
  readonly annotation?: WireAnnotation | null;
  readonly part?: WirePart | null;
}

/** A whole reply, or the part of it that an event carries. */
export interface WireResponse {
  readonly id?: string | null;
  readonly model?: string | null;
  readonly status?: string | null;
  readonly output?: readonly (WireItem | null)[] | null;
  readonly usage?: WireResponseUsage | null;
  readonly error?: { readonly code?: string | null; readonly message?: string | null } | null;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
}

/**
 * Item of a reply: a `message`, `reasoning`, a `function_call`, or the use of a built-in tool. Items
 * of other types have fields of their own.
 */
export interface WireItem {
  readonly type?: string | null;
  readonly id?: string | null;
  readonly status?: string | null;
  readonly content?: readonly (WirePart | null)[] | null;
  readonly summary?: readonly (WirePart | null)[] | null;
  readonly encrypted_content?: string | null;
  readonly phase?: string | null;
  readonly call_id?: string | null;
  readonly name?: string | null;
  readonly arguments?: unknown;
  /** Who runs the call of a built-in tool that either side can run: `client` or `server`. */
  readonly execution?: string | null;
  /** Format of an image, such as `webp`. */
  readonly output_format?: string | null;
}

/** Part of a message's content or of a reasoning item. */
export interface WirePart {
  readonly type?: string | null;
  readonly text?: string | null;
  readonly refusal?: string | null;
  readonly annotations?: readonly (WireAnnotation | null)[] | null;
}

export interface WireAnnotation {
  readonly type?: string | null;
  readonly url?: string | null;
  readonly title?: string | null;
  readonly file_id?: string | null;
  readonly filename?: string | null;
}

export interface WireResponseUsage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly input_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly output_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}

/**
 * What a block keeps of its item, under `providerMetadata.responses`, so that a later request can
 * send the item back.
 */
export interface KeptItem {
  /** Position of the item in the reply. */
  readonly index: number;
  /** Host that sent the item; another one cannot read it. Absent if any host can. */
  readonly origin?: string;
  /** Fields of the item, without those that the block itself holds. */
  readonly item?: JsonObject;
  /** Set if the block's thinking is full reasoning of an open model, not a summary. */
  readonly part?: 'content';
}

/**
 * Events that add nothing to a reply: the finished item repeats their content, or they only report
 * progress, such as `response.web_search_call.searching`.
 */
const ignored = [
  /^response\.(\w+_call(_\w+)?|mcp_list_tools|compaction|audio(\.transcript)?)\.\w+$/,
  /^response\.\w+_part\.added$/,
  /^keepalive$/,
];

export function isIgnored(type: string | null | undefined): boolean {
  return ignored.some((pattern) => pattern.test(type ?? ''));
}
