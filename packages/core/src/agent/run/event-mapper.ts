import { AgentError, errorText, fieldOf, misconfigured } from '../../error/agent-error.ts';
import type { AgentEvent, EventBatch } from '../../event/agent-event.ts';
import { isObjectOrArray } from '../../message/json.ts';
import { markHandled } from '../../wait/mark-handled.ts';
import type { Middleware } from '../middleware.ts';
import type { RunView } from '../seam/run-view.ts';
import { memberName, middlewareWith, type RunSetup } from './run-setup.ts';

/** Passes the events of one run through `mapEvent` of all middleware. */
export class EventMapper {
  readonly #mapping: readonly Middleware[];
  readonly #runId: string;
  readonly #viewOf: () => RunView;
  #view: RunView | undefined;
  #isMapping = false;

  /** `viewOf`: creates the `run` that `mapEvent` gets. */
  constructor(setup: RunSetup, runId: string, viewOf: () => RunView) {
    this.#mapping = middlewareWith(setup, 'mapEvent');
    this.#runId = runId;
    this.#viewOf = viewOf;
  }

  /** Returns the events that the readers get. */
  map(events: EventBatch): EventBatch {
    if (!this.#mapping.length) return events;
    const readersEvents: AgentEvent[] = [];
    // No call per delta of a text, because there are thousands of them.
    for (const event of events) {
      const isText = event.type === 'reasoning-chunk' || event.type === 'summary-chunk';
      readersEvents.push(isText ? event : this.#mapOne(event));
    }
    return readersEvents;
  }

  #mapOne(original: AgentEvent): AgentEvent {
    // A child agent has mapped its own events already.
    if (original.runId !== this.#runId) return original;
    // Code in `mapEvent` may have kept the `run` of a hook. The event would come to it again,
    // without end.
    if (this.#isMapping) throw misconfigured('mapEvent() must not send an event.');
    this.#view ??= this.#viewOf();
    const view = this.#view;
    this.#isMapping = true;
    try {
      return this.#mapping.reduceRight((event, middleware) => {
        try {
          const readersEvent = markHandled(middleware.mapEvent!(event, view)) ?? event;
          if (readersEvent !== event) checkReadersEvent(readersEvent, event);
          return readersEvent;
        } catch (cause) {
          const message = `${memberName('mapEvent', middleware)} failed: ${errorText(cause)}`;
          throw new AgentError('HOOK_ERROR', message, { cause });
        }
      }, original);
    } finally {
      this.#isMapping = false;
    }
  }
}

/**
 * Throws unless `mapEvent` has returned a copy of the same event. With another value in place of
 * `run-end`, readers would wait forever.
 */
function checkReadersEvent(readersEvent: unknown, { type, seq }: AgentEvent): void {
  if (readersEvent instanceof Promise)
    throw new Error('it must not be asynchronous. Return the event, or nothing.');
  const isSame = fieldOf(readersEvent, 'type') === type && fieldOf(readersEvent, 'seq') === seq;
  const hasEnd = type !== 'run-end' || isObjectOrArray(fieldOf(readersEvent, 'result'));
  if (!isSame || !hasEnd) throw new Error('return a changed copy of the event, or nothing.');
}
