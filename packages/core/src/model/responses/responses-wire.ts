import type { Loose } from '../formatter/formatter.ts';
import type { JsonObject } from '../../message/json.ts';

/**
 * Events of the Responses API as servers really send them. Any field may be missing or null,
 * regardless of the specification.
 */
export type ResponsesEvent = Loose<{
  type: string;
  /** `response` if a server that does not stream sent a whole reply. */
  object: string;
  sequence_number: number;
  response: WireResponse;
  item: WireItem;
  item_id: string;
  output_index: number;
  content_index: number;
  summary_index: number;
  /** A text in the events that we read; other events have objects. */
  delta: unknown;
  text: string;
  refusal: string;
  arguments: string;
  annotation: WireAnnotation;
  part: WirePart;
}>;

/** A whole reply, or the part of it that an event carries. */
export type WireResponse = Loose<{
  id: string;
  model: string;
  status: string;
  output: readonly (WireItem | null)[];
  usage: WireResponseUsage;
  error: Loose<{ code: string; message: string }>;
  incomplete_details: Loose<{ reason: string }>;
}>;

/**
 * Item of a reply: a `message`, `reasoning`, a `function_call`, or the use of a built-in tool.
 * Items of other types have fields of their own.
 */
export type WireItem = Loose<{
  type: string;
  id: string;
  status: string;
  content: readonly (WirePart | null)[];
  summary: readonly (WirePart | null)[];
  encrypted_content: string;
  phase: string;
  call_id: string;
  name: string;
  arguments: unknown;
  /** Who runs the call of a built-in tool that either side can run: `client` or `server`. */
  execution: string;
  /** Format of an image, such as `webp`. */
  output_format: string;
}>;

/** Part of a message's content or of a reasoning item. */
type WirePart = Loose<{
  type: string;
  text: string;
  refusal: string;
  annotations: readonly (WireAnnotation | null)[];
}>;

export type WireAnnotation = Loose<{
  type: string;
  url: string;
  title: string;
  file_id: string;
  filename: string;
}>;

export type WireResponseUsage = Loose<{
  input_tokens: number;
  output_tokens: number;
  input_tokens_details: Loose<{ cached_tokens: number }>;
  output_tokens_details: Loose<{ reasoning_tokens: number }>;
}>;

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
const ignoredTypes = [
  /^response\.(\w+_call(_\w+)?|mcp_list_tools|compaction|audio(\.transcript)?)\.\w+$/,
  /^response\.\w+_part\.added$/,
  /^keepalive$/,
];

export function isIgnored(type: string | null | undefined): boolean {
  return ignoredTypes.some((pattern) => pattern.test(type ?? ''));
}
