import type { ContextRequest } from '../../loop/context-policy.ts';

/**
 * How many messages stand before the history. System messages at its beginning are no history
 * either.
 */
export function headOf({ messages, head = 0 }: ContextRequest): number {
  let start = head;
  while (messages[start]?.role === 'system') start++;
  return Math.min(start, messages.length);
}
