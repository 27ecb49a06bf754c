import type { EventData, EventType } from '../../event/agent-event.ts';
import type { ModifiableEvent } from '../../event/hook.ts';
import type { LiveRun } from '../run/live-run.ts';
import { revise, type RevisedEvent } from '../step/jump.ts';
import { step } from './step.ts';

/** Events that hooks only observe. */
type ObservedEvent = Exclude<EventType, ModifiableEvent | 'run-start' | 'run-end' | 'error'>;

/** Events that middleware sends. */
export interface RunEvents {
  /**
   * Sends an event to the hooks, then to the readers. With `to: 'readers'`, leaves out the hooks.
   * Only then it may be an event with controls, because the loop would not carry out what hooks ask
   * for. Works in wrappers, hooks and tools.
   */
  emit<K extends ObservedEvent>(type: K, data: EventData<K>): Promise<void>;
  emit<K extends EventType>(
    type: K,
    data: EventData<K>,
    options: { readonly to: 'readers' },
  ): Promise<void>;
  /**
   * Passes an event through the hooks, then to the readers, and carries out what the hooks ask for.
   * If the hooks change its message, readers get a `step-reset` with the new message first. Hooks
   * at `pre-call` and `pre-acting` may reject what only the loop can reject, so only the loop sends
   * these. Works in wrappers: return its `next`, if there is one.
   */
  revise<K extends Exclude<ModifiableEvent, 'pre-call' | 'pre-acting'>>(
    type: K,
    data: EventData<K>,
  ): Promise<RevisedEvent<K>>;
}

/** Returns the events of a run. */
export function eventsOf(run: LiveRun): RunEvents {
  const { outbox } = run;
  return {
    emit: <K extends EventType>(type: K, data: EventData<K>, options?: { readonly to?: string }) =>
      step(run, async () =>
        options?.to === 'readers'
          ? outbox.tellReaders([outbox.event(type, data)])
          : outbox.emit(type, data),
      ),
    revise: (type, data) => step(run, () => revise(run, type, data)),
  };
}
