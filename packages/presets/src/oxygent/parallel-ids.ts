import { toolUsesOf, type AgentEvent, type Middleware, type RunView } from '@isoloop/core';
import { checkNoOptions } from '@isoloop/core/options';

/**
 * Adds a `parallelId` to the events of tool calls. Tool calls of the same reply have the same id
 * (OxyGent: `parallel_id`). It is the id of the assistant message with the tool calls. It is
 * therefore also in the session log and stays the same after a resume. Readers get the id, but
 * hooks do not.
 */
export function parallelIds(): Middleware;
export function parallelIds(...args: readonly unknown[]): Middleware {
  checkNoOptions('parallelIds()', args);
  return { name: 'parallelIds', mapEvent: withId };
}

function withId(event: AgentEvent, { messages }: RunView): AgentEvent {
  if (event.type !== 'pre-acting' && event.type !== 'acting-chunk' && event.type !== 'post-acting')
    return event;
  const toolUseId = event.type === 'acting-chunk' ? event.toolUseId : event.toolUse.id;
  const asking = messages.findLast((message) =>
    toolUsesOf(message).some(({ id }) => id === toolUseId),
  );
  return asking ? { ...event, parallelId: asking.id } : event;
}
