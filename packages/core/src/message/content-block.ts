import type { JsonObject, JsonValue } from './json/json.ts';

/** Place of the media data: a URL, or inline base64. */
export type MediaSource =
  | { readonly type: 'url'; readonly url: string; readonly mediaType?: string }
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string };

interface BlockBase {
  /**
   * Data that the provider must get back unchanged, such as signatures, reasoning items and ids.
   */
  readonly providerMetadata?: JsonObject;
}

/** Text in a message. */
export interface TextBlock extends BlockBase {
  readonly type: 'text';
  readonly text: string;
}

/** What the model thought before its answer, as the provider shows it. */
export interface ThinkingBlock extends BlockBase {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature?: string;
}

/** An image, a sound, a video or a file in a message. `name`: its file name. */
export interface MediaBlock extends BlockBase {
  readonly type: 'image' | 'audio' | 'video' | 'file';
  readonly source: MediaSource;
  readonly name?: string;
}

/** A tool call of the model. Its result has the same id as `toolUseId`. */
export interface ToolUse extends BlockBase {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  /** Parsed arguments. `null` if `raw` is not JSON. */
  readonly input: JsonValue;
  /** Argument text as the model wrote it. Absent if it is equal to `JSON.stringify(input)`. */
  readonly raw?: string;
}

/** How a tool call ended. `denied`: a person rejected it. `interrupted`: it did not end. */
export type ToolResultState = 'success' | 'error' | 'denied' | 'interrupted';

/** What the model gets as the result of a tool call. */
export interface ToolResult extends BlockBase {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly name: string;
  readonly output: string | readonly ContentBlock[];
  readonly state: ToolResultState;
}

/** One part of a message: text, thinking, media, a tool call or a tool result. */
export type ContentBlock = TextBlock | ThinkingBlock | MediaBlock | ToolUse | ToolResult;
