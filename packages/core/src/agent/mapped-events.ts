import { AgentError, messageOf } from '../error/agent-error.ts';
import type { AgentEvent, EventBatch } from '../event/agent-event.ts';
import type { Middleware } from './middleware.ts';
import type { RunContext } from './run-context.ts';

/** Returns the events that readers get, after the `mapEvent` of all middleware. */
export function mappedEvents(
  mappers: readonly Middleware[],
  events: EventBatch,
  context: RunContext,
): EventBatch {
  const type = events[0]?.type;
  // Deltas are not mapped: there are thousands of them.
  const isDeltas = type?.endsWith('-chunk') && type !== 'acting-chunk';
  if (!mappers.length || isDeltas) return events;
  // A sub-agent has mapped its own events already.
  return events.map((event) =>
    event.runId === context.runId
      ? mappers.reduceRight((shown, part) => mapped(part, shown, context), event)
      : event,
  );
}

function mapped(part: Middleware, event: AgentEvent, context: RunContext): AgentEvent {
  try {
    return part.mapEvent!(event, context);
  } catch (cause) {
    const message = `mapEvent of "${part.name ?? 'unnamed'}" failed: ${messageOf(cause)}`;
    throw new AgentError('HOOK_ERROR', message, { cause });
  }
}
