import type { AgentEvent } from '../event/agent-event.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { RunAgent } from './extension.ts';
import type { Run } from './run.ts';

export interface EventMap {
  /** What the reader gets in place of an event of this run; hooks had the event as it was. */
  event?(event: AgentEvent, run: Run): AgentEvent;
  /** What the call resolves with, and `run-end` has. */
  result?(result: AgentResult, run: Run): AgentResult | Promise<AgentResult>;
}

/** The call with other events for its reader. */
export function mapEvents(next: RunAgent, map: EventMap): RunAgent {
  return async function* (run, input) {
    const events = next(run, input);
    let ended: AgentResult | undefined;
    const mapped = async (event: AgentEvent): Promise<AgentEvent> => {
      // Of a sub-agent's events its own agent has the say.
      if (event.runId !== run.id) return event;
      if (event.type !== 'run-end' || !map.result) return map.event?.(event, run) ?? event;
      ended = await map.result(event.result, run);
      return { ...event, result: ended };
    };
    try {
      for (;;) {
        const step = await events.next();
        if (step.done) return ended ?? step.value;
        const { value } = step;
        // A batch of deltas has nothing to map: a promise for each would cost more than all the
        // rest of its way. An extension behind this one may have left nothing of it.
        const type = value[0]?.type;
        const isDeltas = type?.endsWith('-chunk') && type !== 'acting-chunk';
        yield isDeltas ? value : await Promise.all(value.map(mapped));
      }
    } finally {
      await events.return(undefined as never);
    }
  };
}
