import type { AgentEvent } from '../event/agent-event.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Extension } from '../loop/extension.ts';
import { mapEvents } from '../loop/map-events.ts';
import type { Run } from '../loop/run.ts';

/**
 * Gives readers one `parallelId` on the events of all calls that the model asked for at once
 * (OxyGent: `parallel_id`): the id of the message that asks for them, so that it is the same when a
 * call goes on, and can be found in the log. Hooks don't see it.
 */
export function parallelIds(): Extension {
  return { wrapCall: (next) => mapEvents(next, { event: withId }) };
}

function withId(event: AgentEvent, { view }: Run): AgentEvent {
  if (event.type !== 'pre-acting' && event.type !== 'acting-chunk' && event.type !== 'post-acting')
    return event;
  const toolUseId = event.type === 'acting-chunk' ? event.toolUseId : event.toolUse.id;
  const asking = view.findLast((message) => toolUsesOf(message).some(({ id }) => id === toolUseId));
  return asking ? { ...event, parallelId: asking.id } : event;
}
