import { blocksOf, textOf, type ContentBlock, type Msg } from './msg.ts';
import { startOf } from './text.ts';

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
  if (message.content.every((block) => lengthOfResult(block) <= length)) return message;
  const earlier = shortMessages.get(message);
  if (earlier?.length === length) return earlier.message;
  const content = message.content.map((block) => shortenedBlock(block, length));
  const shortMessage = { ...message, content };
  shortMessages.set(message, { length, message: shortMessage });
  return shortMessage;
}

function shortenedBlock(block: ContentBlock, length: number): ContentBlock {
  const total = lengthOfResult(block);
  if (block.type !== 'tool_result' || total <= length) return block;
  const { output } = block;
  const blocks = blocksOf(output);
  const note = `[This result is shortened. It has ${total} characters; these are the first ${length}.]`;
  const shortBlocks = [...startOfTexts(blocks, length), { type: 'text', text: note } as const];
  return { ...block, output: typeof output === 'string' ? textOf(shortBlocks) : shortBlocks };
}

/** Returns the length of a tool result. Any other block has length 0. */
function lengthOfResult(block: ContentBlock): number {
  if (block.type !== 'tool_result') return 0;
  const { output } = block;
  return typeof output === 'string' ? output.length : lengthOfTexts(output);
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
  let remaining = length;
  return blocks.flatMap((block) => {
    if (block.type !== 'text') return block;
    const text = startOf(block.text, remaining);
    remaining -= block.text.length;
    return text ? { ...block, text } : [];
  });
}
