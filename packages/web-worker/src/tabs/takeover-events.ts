import { toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { AgentEvent, AgentResult, EventBatch, Msg } from '@isoloop/core';

/**
 * Gap between the sequence numbers of the events of two leaders. An earlier leader may still send
 * events with the numbers in the gap.
 */
export const takeoverGap = 1000;

/**
 * Returns events for the readers of an interrupted run. With them, readers have the same data as
 * the log before a new leader continues the run. The events discard an answer that is not in the
 * log. They complete an answer that readers may have only in part, and add missing tool results.
 * `seen`: the events that readers have.
 */
export function takeoverEvents(seen: EventBatch, messages: readonly Msg[]): EventBatch {
  const last = seen.at(-1);
  if (!last) return [];
  const missing: EventBody[] = [];
  const own = seen.filter(({ agentPath }) => agentPath.length < 2);
  const step = own.slice(
    own.findLastIndex(({ type }) => type === 'pre-reasoning' || type === 'pre-summary') + 1,
  );
  const told = step.findLast(
    (event) => event.type === 'post-reasoning' || event.type === 'post-summary',
  );
  const stored = messages.findLast(({ role }) => role === 'assistant');
  const isNew =
    stored !== undefined &&
    !own.some((event) => 'message' in event && event.message.id === stored.id);
  const isThisRuns =
    messages.findLastIndex(({ role }) => role === 'user') < messages.indexOf(stored!);
  if (
    told
      ? !messages.some(({ id }) => id === told.message.id)
      : step.some(({ type }) => type.endsWith('-chunk'))
  ) {
    const replaces = !told && isNew && isThisRuns;
    missing.push({
      type: 'step-reset',
      reason: 'takeover',
      ...(replaces && { replacement: stored }),
    });
    if (replaces) missing.push({ type: 'post-reasoning', message: stored });
  }
  const answered = new Set(
    own.flatMap((event) => (event.type === 'post-acting' ? event.toolUse.id : [])),
  );
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const turn = messages.slice(asked + 1);
  for (const result of turn.flatMap(toolResultsOf)) {
    const toolUse = turn.flatMap(toolUsesOf).find(({ id }) => id === result.toolUseId);
    if (toolUse && !answered.has(toolUse.id))
      missing.push({ type: 'post-acting', toolUse, result });
  }
  return numbered(last, missing);
}

/**
 * Returns the last events of a run that no tab continues, or whose end the readers have not
 * received.
 */
export function ending(seen: EventBatch, result: AgentResult): EventBatch {
  const last = seen.at(-1);
  if (!last) return [];
  const suspended: readonly EventBody[] =
    result.reason === 'suspended' ? [{ type: 'suspended', pending: result.pending }] : [];
  return numbered(last, [...suspended, { type: 'run-end', result }]);
}

type Base = 'runId' | 'sessionId' | 'seq' | 'iteration' | 'agentPath' | 'at' | 'userId';
/** Event without the fields that all events have. */
type EventBody<E = AgentEvent> = E extends AgentEvent ? Omit<E, Base> : never;

function numbered(
  { runId, sessionId, userId, seq, iteration, agentPath }: AgentEvent,
  events: readonly EventBody[],
): EventBatch {
  const base = {
    runId,
    sessionId,
    ...(userId !== undefined && { userId }),
    iteration,
    agentPath: agentPath.slice(0, 1),
    at: Date.now(),
  };
  return events.map(
    (event, index) => ({ ...base, ...event, seq: seq + takeoverGap + index }) as AgentEvent,
  );
}
