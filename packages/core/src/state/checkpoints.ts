import { isSameJson } from '../message/json.ts';
import { misconfigured, invalidInput } from '../error/agent-error.ts';
import { checkId } from '../error/options/check-id.ts';
import type { PendingCall } from '../event/pending-call.ts';
import type { LogRecord } from '../memory/log/log-record.ts';
import { SessionFold } from '../memory/log/session-fold.ts';
import { standingNotes, type SessionView } from '../memory/log/session-view.ts';
import type { SessionMemory } from '../memory/session-memory.ts';
import { toolUsesOf, type Msg } from '../message/msg.ts';
import type { Agent } from '../agent/agent.ts';
import { checkAgent, checkIdle } from './agent-state.ts';

/** An earlier state of a session, from its log. */
export interface Checkpoint {
  readonly id: string;
  /** Last message of the conversation at that time. */
  readonly message: Msg;
  /** Number of messages at that time. */
  readonly messageCount: number;
  /** Reason with which the last run had ended. Absent if a run had not ended. */
  readonly reason?: string;
  /** Tool calls that waited for a person or another program. */
  readonly pending: readonly PendingCall[];
}

/**
 * Returns the checkpoints of an agent's session, the oldest first. There is one checkpoint after
 * each write of messages: an input, a model's reply, or the results of tools. When a long log is
 * compacted, the older checkpoints become one. Rejects with `CONFIGURATION` if the memory has no
 * checkpoints, and with `STORAGE_FAILED` if the log can't be read. Source: Spring AI Alibaba.
 */
export async function listCheckpoints(agent: Agent): Promise<readonly Checkpoint[]> {
  checkAgent(agent);
  return structuredClone(checkpointsIn(await namedFlushes(sessionMemoryOf(agent), agent)));
}

/**
 * Resets an idle agent's session to a checkpoint: conversation, open tool calls, values and active
 * tool groups. The next agent call continues from the checkpoint. The log keeps the later records,
 * so that the session can also go to a later checkpoint. The effects of tools are not undone.
 * Rejects with `INVALID_INPUT` for an unknown id, with `AGENT_BUSY` while a call runs, and with the
 * errors of `listCheckpoints`. If the store fails, the memory's next write resets the session.
 */
export async function returnToCheckpoint(agent: Agent, id: string): Promise<void> {
  checkIdle(agent);
  checkId(id, 'checkpoint id');
  const memory = sessionMemoryOf(agent);
  const flushes = await namedFlushes(memory, agent);
  if (!checkpointsIn(flushes).some((checkpoint) => checkpoint.id === id)) {
    const message = `The session has no checkpoint ${JSON.stringify(id)}. listCheckpoints() returns its checkpoints.`;
    throw invalidInput(message, { details: { id } });
  }
  const names = [...flushes.keys()];
  const earlierFlushes = names.slice(0, names.indexOf(id) + 1).map((name) => flushes.get(name)!);
  const current = await memory.view();
  checkIdle(agent);
  await memory.write(recordsTo(new SessionFold().load(earlierFlushes), current));
  await memory.restore(agent.status, agent.tools);
}

function sessionMemoryOf({ memory }: Agent): SessionMemory {
  // A page's agent in a worker has no `memory`.
  const log = memory as Partial<SessionMemory> | undefined;
  if (log?.flushes) return memory as SessionMemory;
  const example = 'new SessionMemory(new MemoryStore(), "session")';
  throw misconfigured(`Checkpoints need a memory with a log, such as ${example}.`);
}

type NamedFlushes = ReadonlyMap<string, readonly LogRecord[]>;

async function namedFlushes(memory: SessionMemory, agent: Agent): Promise<NamedFlushes> {
  // Another process may have continued the session.
  if (!agent.busy) await memory.restore(agent.status, agent.tools);
  return memory.flushes();
}

function checkpointsIn(flushes: NamedFlushes): readonly Checkpoint[] {
  const checkpoints: Checkpoint[] = [];
  const fold = new SessionFold();
  let isNew = true;
  for (const [id, records] of flushes) {
    isNew ||= records.some(({ kind }) => ['message', 'replace', 'truncate'].includes(kind));
    const { messages, calls, endReason } = fold.load([records]);
    const message = messages.at(-1);
    // A running tool may have had effects, so a session can't return to this state.
    const isActing = [...calls.values()].some(({ started }) => started);
    if (!message || isActing) continue;
    // A run that begins without messages does not change the state before it.
    const isBegin = endReason === undefined && records.some(({ kind }) => kind === 'run-begin');
    if (isBegin && !isNew) continue;
    // Notes about the same messages belong to the same checkpoint.
    if (!isNew) checkpoints.pop();
    isNew = false;
    const reason = endReason === undefined ? {} : { reason: endReason };
    const pending = [...calls.values()].flatMap((call) => call.pending ?? []);
    checkpoints.push({ id, message, messageCount: messages.length, ...reason, pending });
  }
  return checkpoints;
}

/**
 * Returns the records that change a session from the state `current` to the earlier state `target`.
 */
function recordsTo(target: SessionView, current: SessionView): readonly LogRecord[] {
  const { messages, calls, state } = target;
  // If a tool call is open again, its message is written again, which clears the state of the tool
  // call.
  const isChanged = (message: Msg, index: number): boolean =>
    !isSameJson(message, current.messages[index]) ||
    toolUsesOf(message).some(({ id }) => calls.has(id));
  const firstChangedIndex = messages.findIndex(isChanged);
  const start = firstChangedIndex < 0 ? messages.length : firstChangedIndex;
  const { values = {}, groups = null } = state;
  return [
    { kind: 'truncate', ids: current.messages.slice(start).map(({ id }) => id) },
    // These notes close all earlier runs.
    { kind: 'run-begin', runId: '' },
    { kind: 'run-end', runId: '', reason: 'stop' },
    ...messages.slice(start).map((message): LogRecord => ({ kind: 'message', message })),
    ...standingNotes(target),
    { kind: 'state', state: { values, groups } },
  ];
}
