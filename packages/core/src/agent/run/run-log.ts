import type { LogNote } from '../../memory/log/log-record.ts';
import { replaceMessage, rewriteMessages, type WriteOptions } from '../../memory/memory.ts';
import { withMetadata } from '../../message/metadata.ts';
import type { Msg } from '../../message/msg.ts';
import type { RunContext } from '../run-context.ts';
import { applyMessages, applyNotes } from './open-calls.ts';
import type { Run } from './run.ts';

// Everything that a run reads from the log of its session, and writes to it.

/** How far a run has come with the log of its session. */
export interface LogProgress {
  /** Settles once the agent has its state from the log. */
  restored?: Promise<unknown>;
  /** Whether the end of the run was written, or failed to be. */
  isClosed?: boolean;
  /** Work to do before the log gets the end of the run. */
  readonly beforeEnd: ((context: RunContext) => Promise<void>)[];
}

/**
 * Updates the agent's state from the log, and waits for all earlier writes. Reads the log only
 * once. Does not wait before `log.restore`: a write may wait for an earlier read that hangs, and
 * `log.restore` starts a new read in its place.
 */
export function restore(run: Run): Promise<unknown> {
  const { log, tools, unwritten } = run.setup;
  return (run.progress.restored ??= run.waits.forRead(
    Promise.all([log?.restore(run.status, tools, run.signal), Promise.allSettled(unwritten)]),
  ));
}

/** Reads the messages of the log. */
export async function openLog(run: Run): Promise<void> {
  await restore(run);
  const { memory, keptConversation } = run.setup;
  run.conversation = keptConversation.take(await run.waits.forRead(memory.read()));
}

/** Reads the messages again after a failed write, which the memory may have kept. */
export async function reload(run: Run): Promise<void> {
  const { conversation, waits, setup } = run;
  conversation.replace(await waits.forRead(setup.memory.read()).catch(() => run.messages));
}

/** A change of the conversation. Messages are replaced first, and appended last. */
export interface LogEdit {
  /** Ids of the messages to remove. */
  readonly remove?: readonly string[];
  /** Messages that take the places of those with the same ids. */
  readonly replace?: readonly Msg[];
  readonly append?: readonly Msg[];
}

/** Appends messages to the log, then to the conversation. */
export function append(run: Run, messages: readonly Msg[], options?: WriteOptions): Promise<void> {
  return edit(run, { append: messages }, options);
}

/**
 * Changes the conversation. A replaced message changes in the conversation before the log, because
 * another change of the same message may run at the same time. Adds the run's id to user messages,
 * so that the log shows where each turn begins.
 */
export async function edit(
  run: Run,
  { remove = [], replace = [], append: newMessages = [] }: LogEdit,
  options?: WriteOptions,
): Promise<void> {
  const { conversation, runId, waits } = run;
  const { memory } = run.setup;
  for (const message of replace) {
    conversation.replace(run.messages.map((one) => (one.id === message.id ? message : one)));
    await waits.forWrite(replaceMessage(memory, message));
  }
  if (!remove.length && !newMessages.length) return;
  const added = newMessages.map((one) =>
    one.role === 'user' ? withMetadata(one, { runId }) : one,
  );
  await waits.forWrite(rewriteMessages(memory, remove, added, options), () => {
    const removed = remove.length ? run.messages.filter(({ id }) => remove.includes(id)) : [];
    if (removed[0]) conversation.replace(run.messages.filter((one) => !removed.includes(one)));
    conversation.add(added);
    applyMessages(run, removed, added);
  });
}

/** Adds notes to the log and applies them to the states of the open tool calls. */
export function note(
  run: Run,
  notes: readonly LogNote[],
  options?: { readonly write?: boolean },
): Promise<void> {
  applyNotes(run, notes);
  return run.waits.forWrite(run.setup.log?.note(notes, options));
}

/**
 * Writes the end of the run to the log, once. If the run has failed meanwhile, rejects with its
 * failure, because its end then has the reason `error`.
 */
export async function writeEnd(run: Run, reason: string): Promise<void> {
  const { runId, status, progress, setup, waits } = run;
  if (run.failure && reason !== 'error') throw run.failure;
  if (progress.isClosed) return;
  // The work may store something, so it gets the time of a store. If it fails, so does the run.
  let failure: unknown;
  const keepFirst = (error: unknown): void => void (failure ??= error);
  for (const work of progress.beforeEnd)
    await waits.forRead(Promise.resolve(run).then(work)).catch(keepFirst);
  progress.beforeEnd.length = 0;
  if (failure) throw failure;
  progress.isClosed = true;
  await waits.forWrite(setup.memory.flush?.({ runId, reason, calls: status.calls }));
}
