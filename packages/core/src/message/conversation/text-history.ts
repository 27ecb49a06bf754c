import {
  blocksOf,
  hasToolResults,
  textOf,
  toolResultsOf,
  toolUsesOf,
  type ContentBlock,
  type MediaBlock,
  type Msg,
  type ToolUse,
} from '../msg.ts';
import { contentText, isMedia } from '../media/media.ts';
import { markAsProgram, metadataOf } from '../metadata.ts';
import { oncePerGroup, resultGroups } from './tool-pairs.ts';
import type { JsonObject } from '../json.ts';
import { textChecksum } from '../text.ts';

/**
 * Writes the tool calls and results of a conversation as text, for a model without native tool
 * calls. Tool calls become assistant text: the text that the model wrote, if the log has it.
 * Consecutive tool results become one user message, with the media of the types in `media`.
 * Assistant messages without words, media or tool calls are dropped. Other messages stay. Returns
 * the same object for the same messages.
 */
export function textHistory(
  media: readonly MediaBlock['type'][],
): (messages: readonly Msg[]) => readonly Msg[] {
  const asText = oncePerGroup((group) =>
    hasToolResults(group[0]!) ? observation(group, media) : withCallsAsText(group[0]!),
  );
  const visibleMessages = (group: readonly Msg[]): Msg | readonly Msg[] => {
    const message = group[0]!;
    if (hasToolResults(message) || toolUsesOf(message).length) return asText(group);
    return message.role !== 'assistant' || message.content.some(isVisible) ? message : [];
  };
  return (messages) => resultGroups(messages).flatMap(visibleMessages);
}

/** Returns one message for several tool results: first the media, then all texts as one text. */
function observation(group: readonly Msg[], media: readonly MediaBlock['type'][]): Msg {
  const results = group.flatMap(toolResultsOf);
  const isRead = ({ type }: ContentBlock): boolean => media.some((each) => each === type);
  const files = results.flatMap(({ output }) => blocksOf(output).filter(isRead));
  const text = results
    .map(({ name, output }) => `Tool [${name}] execution result: ${contentText(output)}`)
    .join('\n\n');
  const blocks = group.flatMap(({ content }) => content);
  const others = blocks.filter(({ type }) => type !== 'tool_result');
  const { id } = group[0]!;
  const { createdAt } = group.at(-1)!;
  const content: ContentBlock[] = [...files, { type: 'text', text }, ...others];
  return markAsProgram({ id, role: 'user', content, createdAt });
}

/** Writes tool calls in the form that the model should use. */
function callsText(calls: readonly ToolUse[]): string {
  const list = calls.map(({ name, input, raw }) => ({
    tool_name: name,
    arguments: input === null && raw ? raw : input,
  }));
  return `\`\`\`json\n${JSON.stringify(list.length === 1 ? list[0] : list)}\n\`\`\``;
}

function withCallsAsText(message: Msg): Msg {
  const text =
    writtenText(message) ??
    [textOf(message), callsText(toolUsesOf(message))].filter(Boolean).join('\n\n');
  const others = message.content.filter(({ type }) => type !== 'text' && type !== 'tool_use');
  return markAsProgram({ ...message, content: [...others, { type: 'text', text }] });
}

function isVisible(block: ContentBlock): boolean {
  return isMedia(block) || (block.type === 'text' && block.text.trim() !== '');
}

/**
 * If a reply has tool calls in its text, this metadata stores the reply as the model wrote it.
 * `shownText`: the part of the text that the message shows.
 */
export function writtenReply(
  text: string,
  shownText: string,
  calls: readonly Pick<ToolUse, 'name' | 'input'>[],
): JsonObject {
  const at = shownText ? text.indexOf(shownText) : -1;
  const parts = at < 0 ? [text] : [text.slice(0, at), text.slice(at + shownText.length)];
  return { written: { parts, callsChecksum: checksumOf(calls) } };
}

/**
 * Returns a reply as the model wrote it, but with the current text of the message, which guards may
 * have changed. Returns `undefined` if the reply had no tool calls in its text, or if a tool call
 * has changed since.
 */
export function writtenText(message: Msg): string | undefined {
  const { written } = metadataOf(message);
  // Messages of clients may have any metadata.
  const isKnown =
    Array.isArray(written?.parts) && written.callsChecksum === checksumOf(toolUsesOf(message));
  return isKnown ? written.parts.join(textOf(message)) : undefined;
}

/** Returns a checksum, because a copy of the calls would double the log. */
function checksumOf(calls: readonly Pick<ToolUse, 'name' | 'input'>[]): number {
  return textChecksum(JSON.stringify(calls.map(({ name, input }) => [name, input])));
}
