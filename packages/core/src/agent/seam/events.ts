import type { EventData, EventType } from '../../event/agent-event.ts';
import type { LiveRun } from '../run/live-run.ts';
import { revise } from '../step/jump.ts';
import type { Run } from './run.ts';
import { takeLogStep, takeStep } from './take-step.ts';

export function eventsOf(live: LiveRun): Run['events'] {
  const { outbox } = live;
  return {
    emit: <K extends EventType>(type: K, data: EventData<K>, options?: { readonly to?: string }) =>
      takeStep(live, async () =>
        options?.to === 'readers'
          ? outbox.tellReaders([outbox.event(type, data)])
          : outbox.emit(type, data),
      ),
    revise: (type, data) => takeLogStep(live, () => revise(live, type, data)),
  };
}
