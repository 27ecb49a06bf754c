import { AgentError, messageOf } from '../error/agent-error.ts';
import { isRecord } from '../message/is-record.ts';
import type { AgentEvent } from './agent-event.ts';
import type { Hook, HookControl } from './hook.ts';

const noControl: HookControl = { stop() {}, gotoReasoning() {}, jumpTo() {}, reject() {} };

type Handler = (event: AgentEvent, control: HookControl) => Promise<AgentEvent | void>;

/** Hands events to hooks, one after the other, in the order of their priority. */
export class HookDispatcher {
  readonly #hooks: readonly Hook[];
  readonly #bound: Map<string, readonly Handler[]> = new Map();

  constructor(hooks: readonly Hook[]) {
    this.#hooks = hooks.toSorted((a, b) => (a.priority ?? 100) - (b.priority ?? 100));
  }

  /** What the hooks made of a modifiable event: what one returns is what the next one gets. */
  async modify<E extends AgentEvent>(event: E, control: Partial<HookControl> = {}): Promise<E> {
    let current = event;
    for (const handle of this.handlers(event.type)) {
      current = ((await handle(current, { ...noControl, ...control })) as E | void) || current;
      if (current.type !== event.type || current.seq !== event.seq)
        throw new AgentError('HOOK_ERROR', `A hook left no valid event in ${event.type}.`);
    }
    return current;
  }

  /** Tells the hooks, also those after one that fails; what they return is ignored. */
  async notify(event: AgentEvent): Promise<void> {
    let failure: unknown;
    for (const handle of this.handlers(event.type))
      await handle(event, noControl).catch((error: unknown) => (failure ??= error));
    if (failure) throw failure;
  }

  /** Who listens to an event; looked up once a run, as some come by the thousand. */
  handlers(type: AgentEvent['type']): readonly Handler[] {
    let bound = this.#bound.get(type);
    if (!bound) this.#bound.set(type, (bound = this.#hooks.flatMap((hook) => bind(hook, type))));
    return bound;
  }
}

function bind(hook: Hook, type: AgentEvent['type']): readonly Handler[] {
  const { name = 'unnamed', on, onEvent, onError } = hook;
  const given = [on?.[type], onEvent].filter(Boolean) as readonly Required<Hook>['onEvent'][];
  return given.map((handler) => async (event, control) => {
    try {
      return await handler.call(hook, freeze(event), control);
    } catch (error) {
      if (onError === 'ignore') return undefined;
      if (AgentError.is(error)) throw error;
      throw new AgentError('HOOK_ERROR', `Hook "${name}" failed at ${type}: ${messageOf(error)}`, {
        cause: error,
        details: { hook: name, event: type },
      });
    }
  });
}

/**
 * All of it: a hook that writes to a message, a call's arguments or a result has to hear of it, or
 * log, caches and readers would differ.
 */
export function freeze<T>(value: T): T {
  if (isRecord(value) && !Object.isFrozen(value) && !ArrayBuffer.isView(value))
    Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}
