import type { ContentBlock, ToolResult } from './content-block.ts';
import { startOf } from './shorten-text.ts';
import type { Msg } from './msg.ts';

/** Messages with shortened results, by their originals: token counts and wire forms are cached on a message. */
const shortMessages = new WeakMap<Msg, { readonly length: number; readonly shown: Msg }>();

/** Returns the messages as the model sees them: long tool results are shortened and say so. */
export function shortenResults(messages: readonly Msg[], length: number): readonly Msg[] {
  return messages.map((message) =>
    message.role === 'tool' ? shownMessage(message, length) : message,
  );
}

function shownMessage(message: Msg, length: number): Msg {
  if (message.content.every((block) => textLength(block) <= length)) return message;
  const known = shortMessages.get(message);
  if (known?.length === length) return known.shown;
  const content = message.content.map((block) =>
    block.type === 'tool_result' && textLength(block) > length
      ? shortenResult(block, length)
      : block,
  );
  const shown = { ...message, content };
  shortMessages.set(message, { length, shown });
  return shown;
}

/** Returns the length of a result's text. */
function textLength(block: ContentBlock): number {
  if (block.type !== 'tool_result') return 0;
  if (typeof block.output === 'string') return block.output.length;
  return lengthOfTexts(block.output);
}

/** Returns the length of all texts together. Media does not count. */
export function lengthOfTexts(blocks: readonly ContentBlock[]): number {
  return blocks.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
}

/** Returns the blocks with the first `length` characters of their texts, and with all media. */
export function startOfTexts(
  blocks: readonly ContentBlock[],
  length: number,
): readonly ContentBlock[] {
  let left = length;
  return blocks.flatMap((block) => {
    if (block.type !== 'text') return block;
    const text = startOf(block.text, left);
    left -= block.text.length;
    return text ? { ...block, text } : [];
  });
}

function shortenResult(result: ToolResult, length: number): ToolResult {
  const note = `[This result is shortened. It has ${textLength(result)} characters; these are the first ${length}.]`;
  if (typeof result.output === 'string')
    return { ...result, output: `${startOf(result.output, length)}\n${note}` };
  return {
    ...result,
    output: [...startOfTexts(result.output, length), { type: 'text', text: note }],
  };
}
