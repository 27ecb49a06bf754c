import type { Msg } from '../message/msg.ts';
import type { Memory } from './memory.ts';

/** Replaces the message that has the same id, also in a memory without `replace`. */
export async function replaceMessage(memory: Memory, message: Msg): Promise<void> {
  if (memory.replace) return memory.replace(message);
  const log = await memory.read();
  const [found, ...later] = log.slice(log.findIndex(({ id }) => id === message.id));
  if (found?.id !== message.id) return;
  await memory.delete([found, ...later].map(({ id }) => id));
  await memory.append([message, ...later]);
}

/**
 * Removes messages and appends others. A memory with `rewrite` does both in one write. A crash then
 * cannot lose results of finished tool calls that the removed messages contain.
 */
export async function rewriteMessages(
  memory: Memory,
  gone: readonly string[],
  messages: readonly Msg[],
): Promise<void> {
  if (memory.rewrite && messages.length) return memory.rewrite(gone, messages);
  await memory.delete(gone);
  if (messages.length) await memory.append(messages);
}
