import {
  blocksOf,
  textOf,
  type ContentBlock,
  type MessageContent,
  type Msg,
  type ToolResult,
} from '../msg.ts';
import { startOf } from '../text.ts';

/**
 * Messages with shortened results, by their originals: token counts and wire forms are cached on a
 * message.
 */
const shortMessages = new WeakMap<Msg, { readonly length: number; readonly message: Msg }>();

/** Returns the messages as the model sees them: long tool results are shortened and say so. */
export function shortenResults(messages: readonly Msg[], length: number): readonly Msg[] {
  return messages.map((one) => (one.role === 'tool' ? shortenedMessage(one, length) : one));
}

function shortenedMessage(message: Msg, length: number): Msg {
  // Each request passes all results of the conversation, and most are short.
  if (!message.content.some((block) => isLong(block, length))) return message;
  const earlier = shortMessages.get(message);
  if (earlier?.length === length) return earlier.message;
  const content = message.content.map((block) =>
    isLong(block, length) ? shortResult(block, length) : block,
  );
  const shortMessage = { ...message, content };
  shortMessages.set(message, { length, message: shortMessage });
  return shortMessage;
}

function isLong(block: ContentBlock, length: number): block is ToolResult {
  return block.type === 'tool_result' && lengthOfTexts(block.output) > length;
}

function shortResult(result: ToolResult, length: number): ToolResult {
  const { output } = result;
  const note = `[This result is shortened. It has ${lengthOfTexts(output)} characters; these are the first ${length}.]`;
  const blocks = [...startOfTexts(blocksOf(output), length), { type: 'text', text: note } as const];
  return { ...result, output: typeof output === 'string' ? textOf(blocks) : blocks };
}

/** Returns the length of all texts together. Media does not count. */
function lengthOfTexts(content: MessageContent): number {
  if (typeof content === 'string') return content.length;
  return content.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
}

/** Returns the blocks with the first `length` characters of their texts, and with all media. */
export function startOfTexts(
  blocks: readonly ContentBlock[],
  length: number,
): readonly ContentBlock[] {
  let remaining = length;
  return blocks.flatMap((block) => {
    if (block.type !== 'text') return block;
    const text = startOf(block.text, remaining);
    remaining -= block.text.length;
    return text ? { ...block, text } : [];
  });
}
