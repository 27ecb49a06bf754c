import type { Msg } from '../message/msg.ts';

/** Returns the id of a block's message: the block's id without the number at its end. */
export function messageOf(blockId: string): string {
  return blockId.slice(0, blockId.lastIndexOf(':'));
}

/** Returns the thinking blocks of a message that have a text. */
export function thinkingOf({ content }: Msg): readonly string[] {
  return content.flatMap((block) =>
    block.type === 'thinking' && block.thinking ? [block.thinking] : [],
  );
}
