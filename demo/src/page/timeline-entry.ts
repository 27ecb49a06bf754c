import * as z from 'zod';

/**
 * An event of the agent. The transports send it as a `data-isoloop-event` part, without prompts.
 */
export const timelineEvent = z.looseObject({
  type: z.string(),
  runId: z.string(),
  seq: z.number(),
  iteration: z.number(),
  at: z.number(),
});

export type TimelineEvent = z.infer<typeof timelineEvent>;

export interface TimelineEntry {
  readonly kind: 'run' | 'reason' | 'act' | 'error';
  readonly label: string;
  readonly detail: string;
}

/** Maximum number of events in a timeline. Older events are dropped. */
const maxEvents = 400;

/** Adds an event unless the list already has it. A resumed stream repeats all events of its run. */
export function withEvent(
  events: readonly TimelineEvent[],
  event: TimelineEvent,
): readonly TimelineEvent[] {
  if (events.some(({ runId, seq }) => runId === event.runId && seq === event.seq)) return events;
  return [...events, event].slice(-maxEvents);
}

/** Adds the end of a stopped run, because `useChat` stops reading before that event arrives. */
export function stopped(events: readonly TimelineEvent[]): readonly TimelineEvent[] {
  const last = events.at(-1);
  if (!last || last.type === 'run-end') return events;
  const at = Date.now();
  const start = events.find(({ runId }) => runId === last.runId)?.at ?? at;
  return [
    ...events,
    { ...last, type: 'run-end', seq: last.seq + 1, at, reason: 'aborted', durationMs: at - start },
  ];
}

/**
 * Returns the text of an event in the timeline, or `undefined` for events that users need not
 * see.
 */
export function toTimelineEntry(event: TimelineEvent): TimelineEntry | undefined {
  const text = (field: string): string => String(event[field] ?? '');
  switch (event.type) {
    case 'run-start':
      return { kind: 'run', label: 'Run started', detail: '' };
    case 'pre-reasoning':
      return {
        kind: 'reason',
        label: `Reasoning, step ${event.iteration}`,
        detail: `${text('messages')} messages, ${text('tools')} tools`,
      };
    case 'post-reasoning': {
      const calls = Array.isArray(event['toolCalls']) ? event['toolCalls'].map(String) : [];
      if (calls.length)
        return {
          kind: 'reason',
          label: calls.length > 1 ? `Calls ${calls.length} tools` : 'Calls a tool',
          detail: calls.join(', '),
        };
      return { kind: 'reason', label: 'Answered', detail: `${text('characters')} characters` };
    }
    case 'pre-acting':
      return { kind: 'act', label: text('name'), detail: 'started' };
    case 'acting-chunk':
      return { kind: 'act', label: 'Progress', detail: JSON.stringify(event['chunk']) };
    case 'post-acting':
      return {
        kind: text('state') === 'success' ? 'act' : 'error',
        label: text('name'),
        detail: text('state'),
      };
    case 'pre-summary':
      return { kind: 'reason', label: 'Summing up', detail: 'the step limit is reached' };
    case 'context-fitted':
      return {
        kind: 'run',
        label: 'Context fitted',
        detail: `${text('removed')} messages left out`,
      };
    case 'step-reset':
      return { kind: 'reason', label: 'Step started over', detail: text('reason') };
    case 'error':
      return { kind: 'error', label: 'Failed', detail: text('code') };
    case 'run-end':
      return {
        kind: text('reason') === 'error' ? 'error' : 'run',
        label: `Ended: ${text('reason')}`,
        detail: `${text('durationMs')} ms`,
      };
    default:
      return undefined;
  }
}
