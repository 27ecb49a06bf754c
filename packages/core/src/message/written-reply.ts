import { metadataOf } from './metadata-keys.ts';
import type { ToolUse } from './content-block.ts';
import { isRecord } from './json/is-record.ts';
import type { JsonObject } from './json/json.ts';
import { textOf, toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { jsonCopy } from './json/parse-json.ts';
import { textSum } from './text-sum.ts';

interface Written {
  /**
   * The parts of the model's reply before and after the text that the message shows. One
   * part if the reply does not contain the text.
   */
  readonly parts: readonly string[];
  /** Checksum of the tool calls in the reply. */
  readonly calls: number;
}

/**
 * If a reply has tool calls in its text, this metadata stores the reply as the model wrote it.
 * `words`: the part of the text that the message shows.
 */
export function writtenReply(
  text: string,
  words: string,
  calls: readonly Pick<ToolUse, 'name' | 'input'>[],
): JsonObject {
  const at = words ? text.indexOf(words) : -1;
  const parts = at < 0 ? [text] : [text.slice(0, at), text.slice(at + words.length)];
  return { written: { parts, calls: sumOf(calls) } };
}

/**
 * Returns a reply as the model wrote it, but with the current text of the message, which guards may
 * have changed. Returns `undefined` if the reply had no tool calls in its text, or if a tool call
 * has changed since.
 */
export function writtenText(message: Msg): string | undefined {
  const written: unknown = metadataOf(message).written;
  if (!isWritten(written) || written.calls !== sumOf(toolUsesOf(message))) return undefined;
  return written.parts.join(textOf(message));
}

function isWritten(value: unknown): value is Written {
  return (
    isRecord(value) &&
    Array.isArray(value['parts']) &&
    value['parts'].every((part) => typeof part === 'string')
  );
}

/** Returns a checksum, because a copy of the calls would double the log. */
function sumOf(calls: readonly Pick<ToolUse, 'name' | 'input'>[]): number {
  return textSum(JSON.stringify(calls.map(({ name, input }) => [name, jsonCopy(input) ?? null])));
}
