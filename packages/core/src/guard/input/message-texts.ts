import type { ContentBlock } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';

/** Returns every text of the messages: text blocks and texts in tool results. */
export function textsOf(messages: readonly Msg[]): readonly string[] {
  return messages.flatMap(({ content }) => content.flatMap(textsOfBlock));
}

/**
 * Applies `change` to each text that `textsOf` returns. A message without changes stays the same
 * object.
 */
export function mapTexts(
  messages: readonly Msg[],
  change: (text: string) => string,
): readonly Msg[] {
  return messages.map((message) => {
    const content = mapBlocks(message.content, change);
    return content === message.content ? message : { ...message, content };
  });
}

function textsOfBlock(block: ContentBlock): readonly string[] {
  if (block.type === 'text') return [block.text];
  if (block.type !== 'tool_result') return [];
  return typeof block.output === 'string' ? [block.output] : block.output.flatMap(textsOfBlock);
}

function mapBlocks(
  blocks: readonly ContentBlock[],
  change: (text: string) => string,
): readonly ContentBlock[] {
  const mapped = blocks.map((block) => mapBlock(block, change));
  return mapped.some((block, index) => block !== blocks[index]) ? mapped : blocks;
}

function mapBlock(block: ContentBlock, change: (text: string) => string): ContentBlock {
  if (block.type === 'text') {
    const text = change(block.text);
    return text === block.text ? block : { ...block, text };
  }
  if (block.type !== 'tool_result') return block;
  const output =
    typeof block.output === 'string' ? change(block.output) : mapBlocks(block.output, change);
  return output === block.output ? block : { ...block, output };
}
