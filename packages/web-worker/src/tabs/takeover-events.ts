import {
  toolResultsOf,
  toolUsesOf,
  type AgentEvent,
  type AgentResult,
  type EventBatch,
  type Msg,
} from '@isoloop/core';

/**
 * Gap between the sequence numbers of the events of two leaders. An earlier leader may still send
 * events with the numbers in the gap.
 */
export const takeoverGap = 1000;

/**
 * Returns events for the readers of an interrupted run. With them, readers have the same data as
 * the log before a new leader continues the run. The events discard an answer that is not in the
 * log. They complete an answer that readers may have only in part, and add missing tool results.
 * `seenEvents`: the events that readers have.
 */
export function takeoverEvents(seenEvents: EventBatch, messages: readonly Msg[]): EventBatch {
  const lastEvent = seenEvents.at(-1);
  if (!lastEvent) return [];
  const missingEvents: EventBody[] = [];
  const agentEvents = seenEvents.filter(({ agentPath }) => agentPath.length < 2);
  const step = agentEvents.slice(
    agentEvents.findLastIndex(({ type }) => type === 'pre-reasoning' || type === 'pre-summary') + 1,
  );
  const replyEvent = step.findLast(
    (event) => event.type === 'post-reasoning' || event.type === 'post-summary',
  );
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const storedReply = turn.findLast(({ role }) => role === 'assistant');
  const isNew =
    storedReply !== undefined &&
    !agentEvents.some((event) => 'message' in event && event.message.id === storedReply.id);
  if (
    replyEvent
      ? !messages.some(({ id }) => id === replyEvent.message.id)
      : step.some(({ type }) => type.endsWith('-chunk'))
  ) {
    const replaces = !replyEvent && isNew;
    missingEvents.push({
      type: 'step-reset',
      reason: 'takeover',
      ...(replaces && { replacement: storedReply }),
    });
    if (replaces) missingEvents.push({ type: 'post-reasoning', message: storedReply });
  }
  const answeredIds = new Set(
    agentEvents.flatMap((event) => (event.type === 'post-acting' ? event.toolUse.id : [])),
  );
  for (const result of turn.flatMap(toolResultsOf)) {
    const toolUse = turn.flatMap(toolUsesOf).find(({ id }) => id === result.toolUseId);
    if (toolUse && !answeredIds.has(toolUse.id))
      missingEvents.push({ type: 'post-acting', toolUse, result });
  }
  return withSeq(lastEvent, missingEvents);
}

/**
 * Returns the last events of a run that no tab continues, or whose end the readers have not
 * received.
 */
export function endEvents(seenEvents: EventBatch, result: AgentResult): EventBatch {
  const lastEvent = seenEvents.at(-1);
  if (!lastEvent) return [];
  const suspended: readonly EventBody[] =
    result.reason === 'suspended' ? [{ type: 'suspended', pending: result.pending }] : [];
  return withSeq(lastEvent, [...suspended, { type: 'run-end', result }]);
}

type Base = 'runId' | 'sessionId' | 'seq' | 'iteration' | 'agentPath' | 'at' | 'userId';
/** Event without the fields that all events have. */
type EventBody<E = AgentEvent> = E extends AgentEvent ? Omit<E, Base> : never;

function withSeq(
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
