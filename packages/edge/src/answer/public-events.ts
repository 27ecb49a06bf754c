import type { AgentEvent, EventBatch, Memory } from '@isoloop/core';
import { toTimelineEvent } from '@isoloop/core/stream';
import { echoOf } from './echo.ts';

/**
 * Converts events to objects that a client may see, without the model's prompts. `run-start` and
 * `run-end` have the memory's echo, if there is one. With `inspect`, the client may see the
 * prompts.
 */
export function toPublicEvents(
  batch: EventBatch,
  memory?: Memory,
  inspect = false,
): readonly object[] {
  return batch.map((event) => {
    const echo =
      memory && /^run-(start|end)$/.test(event.type) && event.agentPath.length < 2
        ? echoOf(memory)
        : undefined;
    // These may have the text of an error, which nobody may see.
    const isShort = !inspect || /^(context-fitted|run-end)$/.test(event.type);
    return {
      ...((isShort && toTimelineEvent(event)) || event),
      ...publicFields(event),
      echo,
    };
  });
}

/** Returns the fields that `toTimelineEvent` omits but a client needs to show the turn. */
function publicFields(event: AgentEvent): object {
  switch (event.type) {
    case 'pre-acting':
      return { input: event.toolUse.input };
    case 'post-acting':
      return { output: event.result.output };
    case 'post-call':
      return { message: event.message };
    case 'suspended':
      return { pending: event.pending };
    case 'run-end': {
      const { text, pending, output, reason, error } = event.result;
      return {
        text,
        pending,
        output,
        // A failed run has its own `error` event, whose message is safe to show.
        ...(reason !== 'error' && error && { code: error.code }),
      };
    }
    default:
      return {};
  }
}
