import { AgentError, messageOf } from '../error/agent-error.ts';
import type { AgentEvent } from './agent-event.ts';
import type { Hook, HookControl } from './hook.ts';

const noControl: HookControl = { stop() {}, gotoReasoning() {}, reject() {} };

/** Hands events to hooks, one after the other, in the order of their priority. */
export class HookDispatcher {
  readonly #hooks: readonly Hook[];

  constructor(hooks: readonly Hook[]) {
    this.#hooks = hooks.toSorted((a, b) => (a.priority ?? 100) - (b.priority ?? 100));
  }

  /** Whether any hook listens; asked once a run for the events that come by the thousand. */
  wants(type: AgentEvent['type']): boolean {
    return this.#hooks.some((hook) => hook.on?.[type] || hook.onEvent);
  }

  /** What the hooks made of a modifiable event: what one returns is what the next one gets. */
  async modify<E extends AgentEvent>(event: E, control: Partial<HookControl> = {}): Promise<E> {
    let current = event;
    for (const { hook, handler } of this.#handlers(event.type)) {
      const returned = await call(hook, current, handler, { ...noControl, ...control });
      if (!returned) continue;
      if ((returned as AgentEvent).type !== event.type) throw new AgentError('HOOK_ERROR', `A hook made something else of ${event.type}.`);
      current = returned as E;
    }
    return current;
  }

  /** Tells the hooks; what they return is ignored. */
  async notify(event: AgentEvent): Promise<void> {
    for (const { hook, handler } of this.#handlers(event.type)) await call(hook, event, handler, noControl);
  }

  *#handlers(type: AgentEvent['type']): Generator<{ readonly hook: Hook; readonly handler: Handler }> {
    for (const hook of this.#hooks) {
      for (const handler of [hook.on?.[type], hook.onEvent]) if (handler) yield { hook, handler: handler.bind(hook) as Handler };
    }
  }
}

type Handler = (event: AgentEvent, control: HookControl) => unknown;

async function call(hook: Hook, event: AgentEvent, handler: Handler, control: HookControl): Promise<unknown> {
  try {
    return await handler(Object.freeze(event) as AgentEvent, control);
  } catch (error) {
    if (hook.onError === 'ignore') return undefined;
    if (AgentError.is(error)) throw error;
    const name = hook.name ?? 'unnamed';
    throw new AgentError('HOOK_ERROR', `Hook "${name}" failed at ${event.type}: ${messageOf(error)}`, {
      cause: error,
      details: { hook: name, event: event.type },
    });
  }
}
