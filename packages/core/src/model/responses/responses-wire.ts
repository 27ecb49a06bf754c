import type { JsonObject } from '../../message/json/json.ts';

/**
 * Events of the Responses API as servers really send them. Any field may be missing or null,
 * regardless of the specification.
 */
export interface WireEvent {
  readonly type?: string | null;
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
  readonly error?: WireResponseError | null;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
}

export interface WireResponseError {
  readonly code?: string | null;
  readonly message?: string | null;
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

/** Body of a request. */
export interface WireRequest {
  readonly model: string;
  readonly stream: true;
  readonly store: boolean;
  readonly background?: true | undefined;
  readonly instructions?: string | undefined;
  readonly include?: 'reasoning.encrypted_content'[] | undefined;
  readonly max_output_tokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly previous_response_id?: string | undefined;
  readonly reasoning?: WireReasoning | undefined;
  readonly text?: { readonly format?: WireTextFormat } | undefined;
  readonly tool_choice?: WireToolChoice | undefined;
}

export interface WireReasoning {
  readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  readonly summary?: 'auto' | 'concise' | 'detailed';
}

export interface WireTextFormat {
  readonly type: 'json_schema';
  readonly name: string;
  readonly schema: Record<string, unknown>;
  readonly strict: boolean;
}

export type WireToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly type: 'function'; readonly name: string };

export interface WireTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
  readonly strict: boolean;
}

export type WireInputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' }
  | {
      readonly type: 'input_file';
      readonly filename?: string;
      readonly file_data?: string;
      readonly file_url?: string;
    };

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
 * progress.
 */
const ignoredEvents = [
  'response.audio.delta',
  'response.audio.done',
  'response.audio.transcript.delta',
  'response.audio.transcript.done',
  'response.code_interpreter_call_code.delta',
  'response.code_interpreter_call_code.done',
  'response.compaction.compacting',
  'response.content_part.added',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
  'response.mcp_call_arguments.delta',
  'response.mcp_call_arguments.done',
  'response.reasoning_summary_part.added',
  'response.apply_patch_call_operation_diff.delta',
  'response.apply_patch_call_operation_diff.done',
  'keepalive',
] as const;

export type IgnoredEvent = (typeof ignoredEvents)[number];

/** Progress of built-in tools: `response.web_search_call.searching`, `response.mcp_call.failed`. */
const progress = /^response\.(\w+_call(_command|_output_content)?|mcp_list_tools)\.\w+$/;

export function isIgnored(type: string | null | undefined): boolean {
  return !!type && ((ignoredEvents as readonly string[]).includes(type) || progress.test(type));
}
