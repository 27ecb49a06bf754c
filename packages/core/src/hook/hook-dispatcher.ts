import { AgentError, messageOf } from '../error/agent-error.ts';
import { isRecord } from '../message/is-record.ts';
import type { AgentEvent } from './agent-event.ts';
import type { Hook, HookControl } from './hook.ts';

const noControl: HookControl = { stop() {}, gotoReasoning() {}, reject() {} };

type Handler = (event: AgentEvent, control: HookControl) => unknown;

interface Bound {
  readonly hook: Hook;
  readonly handler: Handler;
}

/** Hands events to hooks, one after the other, in the order of their priority. */
export class HookDispatcher {
  readonly #hooks: readonly Hook[];
  readonly #bound: Map<string, readonly Bound[]> = new Map();

  constructor(hooks: readonly Hook[]) {
    this.#hooks = hooks.toSorted((a, b) => (a.priority ?? 100) - (b.priority ?? 100));
  }

  /** What the hooks made of a modifiable event: what one returns is what the next one gets. */
  async modify<E extends AgentEvent>(event: E, control: Partial<HookControl> = {}): Promise<E> {
    let current = event;
    for (const bound of this.handlers(event.type)) {
      Object.values(current).forEach(freeze);
      const returned = await call(bound, current, { ...noControl, ...control });
      if (returned) current = returned as E;
      if (current.type !== event.type) throw new AgentError('HOOK_ERROR', `A hook made something else of ${event.type}.`);
    }
    return current;
  }

  /** Tells the hooks, also those after one that fails; what they return is ignored. */
  async notify(event: AgentEvent): Promise<void> {
    let failure: unknown;
    for (const bound of this.handlers(event.type)) {
      try {
        await call(bound, event, noControl);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure) throw failure;
  }

  /** Who listens to an event; looked up once a run, as some come by the thousand. */
  handlers(type: AgentEvent['type']): readonly Bound[] {
    let bound = this.#bound.get(type);
    if (!bound) this.#bound.set(type, (bound = this.#hooks.flatMap((hook) => bind(hook, type))));
    return bound;
  }
}

function bind(hook: Hook, type: AgentEvent['type']): readonly Bound[] {
  return [hook.on?.[type], hook.onEvent].flatMap((handler) => (handler ? { hook, handler: handler.bind(hook) as Handler } : []));
}

async function call({ hook, handler }: Bound, event: AgentEvent, control: HookControl): Promise<unknown> {
  try {
    return await handler(Object.freeze(event), control);
  } catch (error) {
    if (hook.onError === 'ignore') return undefined;
    if (AgentError.is(error)) throw error;
    const { name = 'unnamed' } = hook;
    throw new AgentError('HOOK_ERROR', `Hook "${name}" failed at ${event.type}: ${messageOf(error)}`, {
      cause: error,
      details: { hook: name, event: event.type },
    });
  }
}

/** Lists, messages and their blocks: a hook that writes to them has to hear of it, or log and caches would differ. */
function freeze(value: unknown): void {
  if (!isRecord(value)) return;
  Object.freeze(value);
  if (Array.isArray(value)) value.forEach(freeze);
  else freeze(value['content']);
}
