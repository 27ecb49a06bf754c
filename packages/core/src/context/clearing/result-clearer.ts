import type { ContentBlock } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';

export interface ResultClearer {
  /** Returns whether the message has a result that may be cleared. */
  isOurs(message: Msg): boolean;
  /**
   * Returns the message with a placeholder for its results. It is the same object each time,
   * because counts and the wire form are cached on it.
   */
  clear(message: Msg): Msg;
}

/**
 * Makes a clearer. `exclude`: names of tools whose results stay. Text results no longer than the
 * placeholder stay, too.
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

/** Changes a message's blocks. Returns the same message if no block changes. */
export function mapContent(message: Msg, change: (block: ContentBlock) => ContentBlock): Msg {
  const content = message.content.map(change);
  return content.every((block, index) => block === message.content[index])
    ? message
    : { ...message, content };
}
