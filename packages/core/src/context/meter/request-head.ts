import type { ContextRequest } from '../../loop/context-policy.ts';

/**
 * Returns the number of messages before the conversation. System messages at its beginning are not
 * part of the conversation.
 */
export function headOf({ messages, head = 0 }: ContextRequest): number {
  let start = head;
  while (messages[start]?.role === 'system') start++;
  return Math.min(start, messages.length);
}
