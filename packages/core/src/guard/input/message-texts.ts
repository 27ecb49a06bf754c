import type { ContentBlock } from '../../message/content-block.ts';
import { mapStrings } from '../../message/json/map-strings.ts';
import type { Msg } from '../../message/msg.ts';

/**
 * Returns every text of the messages that a model may read: texts, thinking, tool results,
 * arguments of tool calls, and names of speakers and files.
 */
export function textsOf(messages: readonly Msg[]): readonly string[] {
  const texts: string[] = [];
  mapTexts(messages, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** Returns the URLs of media. A model that does not accept a medium reads its URL. */
export function addressesOf(messages: readonly Msg[]): readonly string[] {
  return messages.flatMap(({ content }) => content.flatMap(addressesIn));
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
    const name = message.name && change(message.name);
    const content = mapBlocks(message.content, change);
    if (content === message.content && name === message.name) return message;
    return { ...message, content, ...(name && { name }) };
  });
}

function mapBlocks(
  blocks: readonly ContentBlock[],
  change: (text: string) => string,
): readonly ContentBlock[] {
  const mapped = blocks.map((block) => mapBlock(block, change));
  return mapped.some((block, index) => block !== blocks[index]) ? mapped : blocks;
}

function mapBlock(block: ContentBlock, change: (text: string) => string): ContentBlock {
  switch (block.type) {
    case 'text': {
      const text = change(block.text);
      return text === block.text ? block : { ...block, text };
    }
    case 'thinking': {
      const thinking = change(block.thinking);
      return thinking === block.thinking ? block : { ...block, thinking };
    }
    case 'tool_use': {
      const input = mapStrings(block.input, change);
      if (JSON.stringify(input) === JSON.stringify(block.input)) return block;
      const { raw: _raw, ...rest } = block;
      return { ...rest, input };
    }
    case 'tool_result': {
      const { output: given } = block;
      const output = typeof given === 'string' ? change(given) : mapBlocks(given, change);
      return output === given ? block : { ...block, output };
    }
    default: {
      const name = block.name && change(block.name);
      return name === block.name ? block : { ...block, ...(name && { name }) };
    }
  }
}

function addressesIn(block: ContentBlock): readonly string[] {
  if (block.type === 'tool_result')
    return typeof block.output === 'string' ? [] : block.output.flatMap(addressesIn);
  return 'source' in block && block.source.type === 'url' ? [block.source.url] : [];
}
