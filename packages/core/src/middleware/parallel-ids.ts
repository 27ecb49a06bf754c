import type { AgentEvent } from '../event/agent-event.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Middleware } from '../loop/use/middleware.ts';
import type { RunContext } from '../loop/run/run-context.ts';

/**
 * Gives readers one `parallelId` on the events of all calls that the model asked for at once
 * (OxyGent: `parallel_id`): the id of the message that asks for them, so that it is the same when a
 * call goes on, and can be found in the log. Hooks don't see it.
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
