import type { ToolUse } from './content-block.ts';
import { isRecord } from './is-record.ts';
import type { JsonObject } from './json.ts';
import { textOf, toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { jsonCopy } from './parse-json.ts';
import { textSum } from './text-sum.ts';

interface Written {
  /** The reply, split where the message's own text stands. One part if the reply lacks that text. */
  readonly parts: readonly string[];
  /** Checksum of the calls that the reply makes. */
  readonly calls: number;
}

/**
 * Returns metadata that keeps a reply as the model wrote it, for a reply whose text makes calls.
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
 * Returns a reply as the model wrote it. The words in it are those of the message, which guards may
 * have changed. Returns `undefined` if the model did not make its calls by text, or if a call has
 * changed since.
 */
export function writtenText(message: Msg): string | undefined {
  const written = message.metadata?.['written'];
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
