import { fieldOf } from '../error/agent-error.ts';
import type { Kind } from '../error/options/option-table.ts';
import type { Msg } from './msg.ts';

/** Messages of this library. Their content is a list of blocks, and not a text as elsewhere. */
export const messages: Kind<readonly Msg[]> = {
  words: 'an array of messages, as `run.createMessage()` returns them',
  test: (value) => Array.isArray(value) && value.every(hasBlocks),
};

function hasBlocks(message: unknown): boolean {
  return Array.isArray(fieldOf(message, 'content'));
}
