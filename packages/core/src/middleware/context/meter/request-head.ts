import type { ContextRequest } from '../context-policy.ts';

/**
 * Returns the number of messages before the conversation. They are the first `head` messages of the
 * request and the system messages right after them.
 */
export function headOf({ messages, head = 0 }: ContextRequest): number {
  let start = head;
  while (messages[start]?.role === 'system') start++;
  return Math.min(start, messages.length);
}
