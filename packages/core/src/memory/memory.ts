import type { AgentStatus, CallState } from '../event/agent-status.ts';
import type { KeptConversation } from '../message/conversation/conversation.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ReplySlot } from '../model/chat-model.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import type { LogNote } from './log/log-record.ts';

/** The end of a run, and the state of the tool calls that the run left open. */
export interface RunEnd {
  readonly runId: string;
  readonly reason: string;
  readonly calls: ReadonlyMap<string, CallState>;
}

/** The waits of a run for its memory, which end soon after an abort. */
interface MemoryWaits {
  forRead<T>(work: PromiseLike<T>): Promise<T>;
  forWrite(work: Promise<unknown>): Promise<void>;
}

/** Store for the state of the conversation's current reply. */
export interface ReplyStore {
  /**
   * Returns the slot for the state of the reply to the message `afterId`, the last one of the
   * conversation.
   */
  slotAfter(afterId: string, waits: MemoryWaits): ReplySlot;
}

/** When a change of a memory is stored. */
export interface WriteOptions {
  /**
   * Whether the next write may store the change. The caller writes again soon. One write then
   * stores all of it or nothing. If a run is refused before its first write, a memory may restore
   * the messages that were deleted for it. Default: false.
   */
  readonly later?: boolean;
}

/** Where an agent keeps the messages of one conversation. Write your own to use another storage. */
export interface Memory {
  /** Appends messages. Rejects with `STORAGE_QUOTA` or `STORAGE_FAILED` if the store fails. */
  append(messages: readonly Msg[], options?: WriteOptions): Promise<void>;
  /**
   * Returns the messages in the order in which they were appended. A memory may move tool results
   * directly after their tool calls.
   */
  read(): Promise<readonly Msg[]>;
  /** Removes the messages with these ids; ignores unknown ids. */
  delete(ids: readonly string[], options?: WriteOptions): Promise<void>;
  clear(): Promise<void>;
}

/** What a memory may have in addition. The agent works without it, with more writes. */
export interface ExtendedMemory extends Memory {
  /**
   * Replaces the message that has the same id, and keeps its position. Without `replace`, the agent
   * removes the old message and all later messages. Then it appends the new message and the later
   * messages.
   */
  replace?(message: Msg): Promise<void>;
  /**
   * Removes messages and appends others in one write. Without `rewrite`, the agent calls `delete`
   * and `append`.
   */
  rewrite?(removedIds: readonly string[], messages: readonly Msg[]): Promise<void>;
  /**
   * Writes messages and notes that are not in the store yet (`durability: 'turn'`). The agent calls
   * `flush` at the end of each agent call, even a failed one.
   */
  flush?(end?: RunEnd): Promise<void>;
  /**
   * The session's values, which all agents over this memory share. If a memory has no `state`, each
   * agent has its own values until `restore` sets them.
   */
  readonly state?: Record<string, JsonValue>;
  /**
   * What an open tool call without a note does: `run`, or count as started. Only for a memory
   * without a log. Default: `interrupt`, so that no tool runs twice.
   */
  readonly unnotedCalls?: 'run' | 'interrupt';
  /**
   * The conversation of the last run. All agents over this memory share it, so that a run looks
   * only at new messages. Only the library's memories have it. With another memory, each agent
   * keeps its own.
   */
  readonly keptConversation?: KeptConversation;
  /** Id of the session that the memory stores: the default of the agent's `sessionId`. */
  readonly sessionId?: string;
}

/**
 * A memory with a log of the session, which also has notes about runs and tool calls. Another
 * process can continue a run from it. `SessionMemory` and wrappers of it are such memories.
 */
export interface LogMemory extends ExtendedMemory {
  /**
   * Adds notes about runs and tool calls, which the next write stores. With `write`, stores the
   * notes before the promise resolves, unless `durability` is `turn`.
   */
  note(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void>;
  /**
   * Updates the agent's state from the log: open tool calls, their run, the session's values and
   * the active tool groups. The agent calls `restore` before each agent call. Earlier writes come
   * first. After `signal` aborts, the agent no longer waits for this read, and the next agent call
   * must not wait for it.
   */
  restore(status: AgentStatus, tools: ToolSet, signal?: AbortSignal): Promise<void>;
  flush(end?: RunEnd): Promise<void>;
  /**
   * Keeps the state of the model's current reply, so that another process can continue to read the
   * reply. Absent if the memory does not store notes at once.
   */
  readonly replies?: ReplyStore | undefined;
  /** Number that grows with every write to the log. Default: 0. */
  readonly sessionVersion?: number;
}

/** Returns the memory if it has a log of the session. */
export function logMemoryOf(memory: Memory): LogMemory | undefined {
  const { note, restore } = memory as Partial<LogMemory>;
  return note && restore ? (memory as LogMemory) : undefined;
}

/** Replaces the message that has the same id, also in a memory without `replace`. */
export async function replaceMessage(memory: ExtendedMemory, message: Msg): Promise<void> {
  if (memory.replace) return memory.replace(message);
  const log = await memory.read();
  const [oldMessage, ...later] = log.slice(log.findIndex(({ id }) => id === message.id));
  if (oldMessage?.id !== message.id) return;
  await memory.delete([oldMessage, ...later].map(({ id }) => id));
  await memory.append([message, ...later]);
}

/**
 * Removes messages and appends others. A memory with `rewrite` does both in one write. A crash then
 * cannot lose results of finished tool calls that the removed messages contain. `options` hold if
 * it only removes or only appends.
 */
export async function rewriteMessages(
  memory: ExtendedMemory,
  removedIds: readonly string[],
  messages: readonly Msg[],
  options?: WriteOptions,
): Promise<void> {
  if (!removedIds.length) return memory.append(messages, options);
  if (memory.rewrite && messages.length) return memory.rewrite(removedIds, messages);
  await memory.delete(removedIds, options);
  if (messages.length) await memory.append(messages);
}
