/** Returns the id of a block's message: the block's id without the number at its end. */
export function messageIdOf(blockId: string): string {
  return blockId.slice(0, blockId.lastIndexOf(':'));
}
