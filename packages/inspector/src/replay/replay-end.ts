import { textOf, toolUsesOf, type Msg } from '@isoloop/core';
import type { InspectedEvent } from '../steps/event-runs.ts';
import type { LogTurn } from '../steps/log-turns.ts';
import { replayScript } from '../steps/replay-script.ts';

const noEnd =
  'The replay has ended. The log does not contain the end of this run, so there is nothing to compare.';

/** How a replay ended. */
export interface ReplayEnd {
  readonly reason: string;
  /** The last message of the agent. `undefined`: it sent none. */
  readonly lastMessage: Msg | undefined;
}

/** Returns how a replay has ended after more of its events. Nested agents do not count. */
export function endAfter(end: ReplayEnd, events: readonly InspectedEvent[]): ReplayEnd {
  let { reason, lastMessage } = end;
  for (const event of events) {
    if (event.agentPath.length > 1) continue;
    if (event.type === 'post-reasoning') lastMessage = event['message'] as Msg;
    if (event.type !== 'run-end') continue;
    const result = event['result'] as { readonly reason: string; readonly message: Msg };
    ({ reason } = result);
    // A run without an answer ends with an empty message.
    if (result.message.content.length) lastMessage = result.message;
  }
  return { reason, lastMessage };
}

/**
 * Compares the end of a replay with that of the log: the reason, and what the agent said or called
 * last. `hasAgent`: whether the replay has the middleware of the real agent, which can end a run.
 */
export function endSentence(turn: LogTurn, end: ReplayEnd, hasAgent: boolean): string {
  if (turn.isOpen || turn.reason === undefined) return noEnd;
  const { ending, replies } = replayScript(turn);
  const isSame =
    (!hasAgent || isSameReason(turn.reason, end.reason)) &&
    contentOf(ending ?? replies.at(-1)) === contentOf(end.lastMessage);
  if (isSame) return 'The replay ended like the log.';
  const reasons = turn.reason === end.reason ? '' : ` (${end.reason}, not ${turn.reason})`;
  return `The replay ended differently from the log${reasons}.`;
}

/**
 * A replay cannot repeat an abort, a suspension or an interruption. It ends as `aborted` at the
 * same place.
 */
function isSameReason(logged: string, replayed: string): boolean {
  const isFromOutside = /^(aborted|error|interrupted|suspended)$/.test(logged);
  return logged === replayed || (isFromOutside && replayed === 'aborted');
}

function contentOf(message: Msg | undefined): string {
  if (!message) return '';
  const calls = toolUsesOf(message).map(({ name, input }) => [name, input]);
  return JSON.stringify([textOf(message), calls]);
}
