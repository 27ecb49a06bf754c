import type { AgentEvent } from '../event/agent-event.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import type { RunContext } from '../loop/run/run-context.ts';

/**
 * Adds one `parallelId` to the events of all calls that the model requested at once (OxyGent:
 * `parallel_id`). It is the id of the requesting message, so it stays the same after a resume and
 * can be found in the log. Readers see it, hooks do not.
 */
export function parallelIds(): Middleware {
  return { name: 'parallelIds', mapEvent: withId };
}

function withId(event: AgentEvent, { messages }: RunContext): AgentEvent {
  if (event.type !== 'pre-acting' && event.type !== 'acting-chunk' && event.type !== 'post-acting')
    return event;
  const toolUseId = event.type === 'acting-chunk' ? event.toolUseId : event.toolUse.id;
  const asking = messages.findLast((message) =>
    toolUsesOf(message).some(({ id }) => id === toolUseId),
  );
  return asking ? { ...event, parallelId: asking.id } : event;
}
