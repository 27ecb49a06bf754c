import type { AgentTimelineEvent } from '@isoloop/react';
import type { Home } from './settings.ts';

/** The mark of a killed worker, or of a killed Durable Object, in the timeline. */
export interface WorkerKilled extends Pick<AgentTimelineEvent, 'runId' | 'seq' | 'at'> {
  readonly type: 'worker-killed';
  readonly home: Home;
}

export type TimelineItem = AgentTimelineEvent | WorkerKilled;

export interface TimelineEntry {
  readonly kind: 'run' | 'reason' | 'act' | 'error';
  readonly label: string;
  readonly detail: string;
}

/**
 * Adds the ends of stopped runs, because a page stops reading before their last event arrives.
 * `isReady`: no run is active.
 */
export function withEnds(
  events: readonly TimelineItem[],
  isReady: boolean,
): readonly TimelineItem[] {
  return events.map(afterKill).flatMap((event, index, all) => {
    const next = all[index + 1];
    if (event.type === 'run-end' || event.type === 'worker-killed') return [event];
    if (isTakeover(event)) return [event];
    const isLast = next ? next.runId !== event.runId && !continuesRun(next) : isReady;
    return isLast ? [event, endAfter(event, events)] : [event];
  });
}

/** Only a worker says that its run continues another one. */
function afterKill(
  event: TimelineItem,
  index: number,
  events: readonly TimelineItem[],
): TimelineItem {
  const isAfter = events[index - 1]?.type === 'worker-killed';
  return isAfter && event.type === 'run-start' ? { ...event, continues: true } : event;
}

/** Another tab continues the run, with an id of its own. */
function isTakeover(event: AgentTimelineEvent): boolean {
  return event.type === 'step-reset' && event['reason'] === 'takeover';
}

function continuesRun(item: TimelineItem): boolean {
  return item.type !== 'worker-killed' && item.continues === true;
}

/** Returns the mark that follows the last event of a killed worker. */
export function killMark(home: Home, last: TimelineItem | undefined, at: number): WorkerKilled {
  const { runId = 'none', seq = 0 } = last ?? {};
  return { type: 'worker-killed', home, runId, seq: seq + 0.5, at };
}

function endAfter(last: AgentTimelineEvent, events: readonly TimelineItem[]): AgentTimelineEvent {
  const start = events.find(({ runId }) => runId === last.runId) ?? last;
  const durationMs = last.at - start.at;
  return { ...last, type: 'run-end', seq: last.seq + 1, reason: 'aborted', durationMs };
}

/**
 * Returns the text of an event in the timeline, or `undefined` for events that users need not
 * see.
 */
export function toTimelineEntry(event: TimelineItem): TimelineEntry | undefined {
  if (event.type === 'worker-killed') return entryOfKill(event);
  const text = (field: string): string => String(event[field] ?? '');
  switch (event.type) {
    case 'run-start':
      return event.continues
        ? { kind: 'run', label: 'Run continued', detail: 'from the log' }
        : { kind: 'run', label: 'Run started', detail: '' };
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
      return { kind: 'act', label: text('name'), detail: 'called' };
    case 'acting-chunk':
      return { kind: 'act', label: 'Progress', detail: JSON.stringify(event['chunk']) };
    case 'post-acting':
      return {
        kind: text('state') === 'success' ? 'act' : 'error',
        label: text('name'),
        detail: text('state'),
      };
    case 'suspended':
      return entryOfSuspension(event);
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

function entryOfKill({ home }: WorkerKilled): TimelineEntry {
  const label = home === 'worker' ? 'Worker killed' : 'Durable Object killed';
  return { kind: 'error', label, detail: 'a new one reads the log' };
}

/** A run can also end without a call that waits for a person. Its end says so. */
function entryOfSuspension(event: AgentTimelineEvent): TimelineEntry | undefined {
  const calls = event['pending'] as readonly { readonly name: string }[];
  const detail = calls.map(({ name }) => name).join(', ');
  return detail ? { kind: 'act', label: 'Waits for you', detail } : undefined;
}
