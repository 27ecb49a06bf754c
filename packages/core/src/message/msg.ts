import type { JsonObject, JsonValue } from './json.ts';

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
  readonly output: MessageContent;
  readonly state: ToolResultState;
}

/** One part of a message: text, thinking, media, a tool call or a tool result. */
export type ContentBlock = TextBlock | ThinkingBlock | MediaBlock | ToolUse | ToolResult;

/** Content of a new message or of a tool result: a text, or blocks such as texts and images. */
export type MessageContent = string | readonly ContentBlock[];

/** Who wrote a message. A `tool` message has the results of tool calls. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** One message of a conversation: plain JSON, never changed after its creation. */
export interface Msg {
  /** Unique within its session. */
  readonly id: string;
  readonly role: Role;
  /** Name of the speaker, if several speakers share a role. */
  readonly name?: string;
  readonly content: readonly ContentBlock[];
  readonly metadata?: JsonObject;
  /** Time of creation: ISO 8601, UTC. */
  readonly createdAt: string;
}

/** Sources of ids and times. Tests provide their own sources. */
export interface MessageContext {
  /** Function that returns a new unique id. Default: `crypto.randomUUID`. */
  readonly generateId?: () => string;
  /** Function that returns milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Options of a new message. Other fields are allowed, so that a hook's context can be passed. */
export interface MessageOptions extends MessageContext {
  readonly id?: string;
  readonly name?: string;
  readonly metadata?: JsonObject;
}

/** Creates a message of any role, with a new id and the current time. */
export function createMessage(
  role: Role,
  content: MessageContent,
  options: MessageOptions = {},
): Msg {
  const { generateId = () => crypto.randomUUID(), now = Date.now, name, metadata } = options;
  return {
    id: options.id ?? generateId(),
    role,
    ...(name !== undefined && { name }),
    content: blocksOf(content),
    ...(metadata && { metadata }),
    createdAt: new Date(now()).toISOString(),
  };
}

/**
 * Creates a message of the user: a text, or a list of blocks such as texts and images.
 *
 * @example
 * await agent.call(userMessage([{ type: 'text', text: 'What is this?' }, image]));
 */
export function userMessage(content: MessageContent, options?: MessageOptions): Msg {
  return createMessage('user', content, options);
}

/** Creates a message of the assistant, for example to continue an earlier conversation. */
export function assistantMessage(content: MessageContent, options?: MessageOptions): Msg {
  return createMessage('assistant', content, options);
}

/** Creates a message with instructions for the model. */
export function systemMessage(content: string, options?: MessageOptions): Msg {
  return createMessage('system', content, options);
}

/**
 * Creates a message with one tool result, or with several in a list. AgentScope stores one message
 * for each result.
 */
export function toolMessage(
  results: ToolResult | readonly ToolResult[],
  options?: MessageOptions,
): Msg {
  return createMessage('tool', [results].flat(), options);
}

/** Returns content as blocks. A text becomes one text block. */
export function blocksOf(content: MessageContent): readonly ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/**
 * Returns the text blocks of a message, joined by a line break. Source: AgentScope,
 * `getTextContent`.
 */
export function textOf(message: Msg | readonly ContentBlock[]): string {
  const blocks = 'role' in message ? message.content : message;
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Returns the text of all user messages. */
export function userText(messages: readonly Msg[]): string {
  const texts = messages.filter(({ role }) => role === 'user').map(textOf);
  return texts.join('\n\n');
}

/** Returns the thinking blocks of a message that have a text. */
export function thinkingOf({ content }: Msg): readonly string[] {
  return content.flatMap((block) =>
    block.type === 'thinking' && block.thinking ? [block.thinking] : [],
  );
}

/** Returns the tool calls in a message. */
export function toolUsesOf(message: Msg): readonly ToolUse[] {
  return message.content.filter((block) => block.type === 'tool_use');
}

/** Returns the tool call with this id, if the message has it. */
export function toolUseIn(message: Msg, id: string): ToolUse | undefined {
  return toolUsesOf(message).find((use) => use.id === id);
}

/** Returns the tool results in a message. */
export function toolResultsOf(message: Msg): readonly ToolResult[] {
  return message.content.filter((block) => block.type === 'tool_result');
}

/** Returns whether a message has tool results. A user's message may also have them. */
export function hasToolResults({ content }: Msg): boolean {
  return content.some(({ type }) => type === 'tool_result');
}

/**
 * Returns a tool result's output as text, with a placeholder such as `[image]` for each media
 * block.
 */
export function outputText(output: MessageContent): string {
  if (typeof output === 'string') return output;
  return output.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
}

/**
 * Adds a text to a system message, after a blank line. Some models accept only one system message.
 */
export function withSystemText(system: Msg, text: string): Msg {
  // The blocks of a system message are joined by a line break.
  return { ...system, content: [...system.content, { type: 'text', text: `\n${text}` }] };
}

/** Returns the id of a block's message: the block's id without the number at its end. */
export function messageIdOf(blockId: string): string {
  return blockId.slice(0, blockId.lastIndexOf(':'));
}
