import type { AgentResult, StopReason } from '../event/agent-result.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { pendingCalls } from './admission/pending-calls.ts';
import type { FinishExtras, Move } from './move.ts';
import type { OutputAnswer } from './output-mode.ts';
import type { Run } from './run/run.ts';

/** The last move of a run. */
export type Finish = Extract<Move, { to: 'finish' }>;

/**
 * Returns the move that ends the agent call. Default of `message`: an empty message, which is not
 * stored.
 */
export function finishWith(
  run: Run,
  reason: StopReason,
  message: Msg = run.message('assistant', []),
  extras?: FinishExtras,
): Finish {
  // From here on no interrupt or injected message can change the ending.
  run.closed = true;
  return { to: 'finish', reason, message, ...extras };
}

/**
 * Returns the message with role `assistant`. Sets the agent's name, but keeps the name of an
 * assistant message.
 */
export function asReply(run: Run, message: Msg): Msg {
  const own = message.role === 'assistant' ? message.name : undefined;
  return { ...message, role: 'assistant', name: own ?? run.setup.options.name };
}

export function finishWithValue(run: Run, { message, output }: OutputAnswer): Finish {
  return finishWith(run, 'stop', message, { output });
}

export function resultOf(run: Run, { to: _to, message, ...ended }: Finish): AgentResult {
  const { memory, now } = run.setup;
  return {
    text: textOf(message),
    message,
    ...ended,
    ...(run.warnings[0] && { warnings: run.warnings }),
    usage: run.usage,
    toolsUsed: [...run.toolsUsed],
    durationMs: now() - run.startedAt,
    iterations: run.iteration,
    pending: pendingCalls(run),
    sessionVersion: memory.sessionVersion ?? 0,
  };
}
