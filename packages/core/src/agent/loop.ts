import { AgentError } from '../error/agent-error.ts';
import type { EventBatch } from '../hook/agent-event.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { AgentResult, StopReason } from './agent-result.ts';
import { act } from './act.ts';
import type { Move } from './move.ts';
import { reason } from './reason.ts';
import type { Run } from './run.ts';
import { settle } from './settle.ts';

type Finish = Extract<Move, { to: 'finish' }>;

/** One call: settle → reason → act → … → finish. Yields event batches, returns the result, fails after `error` and `run-end`. */
export async function* loop(run: Run, input: readonly Msg[]): AsyncGenerator<EventBatch, AgentResult> {
  try {
    yield await run.notify('run-start', {});
    let move = yield* settle(run, input);
    while (move.to !== 'finish') move = yield* move.to === 'reason' ? reason(run) : act(run, move.toolUses);
    return yield* finish(run, move);
  } catch (thrown) {
    const error = AgentError.from(thrown);
    const data = error.toJSON();
    const result: AgentResult = { ...resultOf(run, run.message('assistant', []), 'error'), error: data };
    await run.setup.memory.flush?.().catch(() => {});
    yield await lastWords(run, 'error', { error: data });
    yield await lastWords(run, 'run-end', { result });
    if (!run.setup.throwOnError) return result;
    throw error;
  }
}

async function* finish(run: Run, move: Finish): AsyncGenerator<EventBatch, AgentResult> {
  const { reason: why } = move;
  let { message } = move;
  if (why !== 'aborted' && why !== 'interrupted') message = yield* run.revise('post-call', message);
  // What a step has put into the log, and the nothing of a call aborted before its answer, is not to be put there.
  if (message.content.length && !run.view.some(({ id }) => id === message.id)) await run.append([message]);
  await run.setup.memory.flush?.();
  const result = resultOf(run, message, why);
  yield await run.notify('run-end', { result });
  return result;
}

function resultOf(run: Run, message: Msg, why: StopReason): AgentResult {
  const { memory, now } = run.setup;
  return {
    text: textOf(message),
    message,
    reason: why,
    usage: run.usage,
    toolsUsed: [...run.toolsUsed],
    durationMs: now() - run.startedAt,
    iterations: run.iteration,
    pending: [],
    sessionVersion: memory.sessionVersion ?? 0,
  };
}

/** The events of a failed call: a hook that fails on them must not hide the failure. */
async function lastWords<K extends 'error' | 'run-end'>(
  run: Run,
  type: K,
  fields: Parameters<typeof run.event<K>>[1],
): Promise<EventBatch> {
  const event = run.event(type, fields);
  await run.hooks.notify(event).catch(() => {});
  return [event];
}
