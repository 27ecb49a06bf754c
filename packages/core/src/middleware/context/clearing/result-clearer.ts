import type { ContentBlock } from '../../../message/content-block.ts';
import type { Msg } from '../../../message/msg.ts';

export interface ResultClearer {
  /** Returns whether the message has a tool result that may be cleared. */
  isOurs(message: Msg): boolean;
  /**
   * Returns the message with a placeholder for each tool result that may be cleared. For the same
   * message, the result is the same object each time. The token count and the JSON for the provider
   * are cached on that object.
   */
  clear(message: Msg): Msg;
}

/**
 * Makes a clearer of tool results. Results of the tools named in `exclude` stay. A text result that
 * is no longer than the placeholder stays too.
 */
export function resultClearer(placeholder: string, exclude: readonly string[]): ResultClearer {
  const cleared = new WeakMap<Msg, Msg>();
  const clearBlock = (block: ContentBlock): ContentBlock => {
    if (block.type !== 'tool_result' || exclude.includes(block.name)) return block;
    const isShort = typeof block.output === 'string' && block.output.length <= placeholder.length;
    return isShort ? block : { ...block, output: placeholder };
  };
  return {
    isOurs: ({ content }) =>
      content.some((block) => block.type === 'tool_result' && !exclude.includes(block.name)),
    clear(message) {
      const found = cleared.get(message) ?? mapContent(message, clearBlock);
      cleared.set(message, found);
      return found;
    },
  };
}

/** Applies `change` to each block of a message. Returns the same message if no block changes. */
export function mapContent(message: Msg, change: (block: ContentBlock) => ContentBlock): Msg {
  const content = message.content.map(change);
  return content.every((block, index) => block === message.content[index])
    ? message
    : { ...message, content };
}
