import { metadataOf } from '../../message/metadata.ts';
import type { Msg } from '../../message/msg.ts';
import { openToolUses } from '../../message/conversation/tool-pairs.ts';
import type { SessionView } from './session-view.ts';

/** The part of a session's state that decides how an agent call without input continues. */
export type LogEnd = Pick<SessionView, 'messages' | 'openRunId'>;

/**
 * How an agent call without input continues a log.
 *
 * - `interrupted`: a person stopped the last run. The call asks the model again.
 * - `open-calls`: tool calls wait for their results. The call runs them or waits again.
 * - `partial`: the last run left a partial or invalid reply. The call asks the model again.
 * - `answered`: the last run stored its answer, but its process died before the log had the end of
 *   the run. The call returns the answer.
 * - `unanswered`: the last message or tool result has no answer. The call asks the model.
 * - `nothing`: the log is empty, or ends with a finished answer.
 */
export interface Resumption {
  readonly type: 'interrupted' | 'open-calls' | 'partial' | 'answered' | 'unanswered' | 'nothing';
  /** Messages at the end of the log that the call removes. */
  readonly removed: readonly Msg[];
  /** The stored answer that the call returns. */
  readonly answer?: Msg;
}

/**
 * Returns how an agent call without input continues the log. The first rule that fits decides.
 * `agent`: name of the agent. Another agent's message at the end is unanswered. Source: AgentScope,
 * `observe`.
 */
export function resumptionOf({ messages, openRunId }: LogEnd, agent?: string): Resumption {
  const index = messages.findLastIndex(isKept);
  const last = messages[index];
  if (!last) return { type: 'nothing', removed: [] };
  const removed = messages.slice(index + 1).filter(isLeftover);
  if (removed.some(isOfInterrupt)) return { type: 'interrupted', removed };
  if (openToolUses(messages).length) return { type: 'open-calls', removed: [] };
  if (removed.length) return { type: 'partial', removed };
  if (last.role !== 'assistant') return { type: 'unanswered', removed };
  if (openRunId === undefined) {
    const isOfAgent = agent === undefined || (last.name ?? agent) === agent;
    return { type: isOfAgent ? 'nothing' : 'unanswered', removed };
  }
  return { type: 'answered', removed, answer: last };
}

/**
 * Returns whether the library may continue the log on its own. The log has no end of the last run,
 * the run left something to continue, and no person interrupted it.
 */
export function isCutOff(view: LogEnd & Pick<SessionView, 'endReason'>): boolean {
  if (view.openRunId === undefined || view.endReason !== undefined) return false;
  const { type } = resumptionOf(view);
  return type !== 'interrupted' && type !== 'nothing';
}

/**
 * Returns the log's messages, except those that an agent call without input removes, and except a
 * stored answer that the call returns.
 */
export function messagesBefore(log: LogEnd): readonly Msg[] {
  const { removed, answer } = resumptionOf(log);
  return log.messages.filter((message) => message !== answer && !removed.includes(message));
}

/** Returns whether a log is empty or ends with an answer. The log must have no open tool calls. */
export function endsWithAnswer(messages: readonly Msg[]): boolean {
  const last = messages.findLast(({ role }) => role !== 'system');
  return !last || (last.role === 'assistant' && isKept(last));
}

function isKept(message: Msg): boolean {
  return message.role !== 'system' && !isLeftover(message);
}

/** Returns whether a run that did not answer left this message behind. */
function isLeftover(message: Msg): boolean {
  const { partial, correction, reason } = metadataOf(message);
  if (isOfInterrupt(message)) return true;
  return message.role === 'assistant' && Boolean(partial || correction || reason === 'error');
}

/**
 * Returns whether an interrupt left this message: a partial reply, or the message with which the
 * interrupted call ended.
 */
function isOfInterrupt(message: Msg): boolean {
  const { partial, reason } = metadataOf(message);
  return partial === 'interrupted' || reason === 'interrupted';
}
