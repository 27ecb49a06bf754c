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
  async modify<E extends AgentEvent>(event: E, control: HookControl = noControl): Promise<E> {
    let current = event;
    for (const hook of this.#hooks) {
      for (const handler of handlersOf(hook, event.type)) {
        const returned = await call(hook, current, () => handler(Object.freeze(current) as AgentEvent, control));
        if (returned) current = replacement(current, returned);
      }
    }
    return current;
  }

  /** Tells the hooks; what they return is ignored. */
  async notify(event: AgentEvent): Promise<void> {
    for (const hook of this.#hooks) {
      for (const handler of handlersOf(hook, event.type)) await call(hook, event, () => handler(Object.freeze(event), noControl));
    }
  }
}

type Handler = (event: AgentEvent, control: HookControl) => unknown;

function handlersOf(hook: Hook, type: AgentEvent['type']): readonly Handler[] {
  const own = hook.on?.[type] as Handler | undefined;
  const all = hook.onEvent?.bind(hook) as Handler | undefined;
  return own ? (all ? [own, all] : [own]) : all ? [all] : [];
}

async function call(hook: Hook, event: AgentEvent, handle: () => unknown): Promise<unknown> {
  try {
    return await handle();
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

function replacement<E extends AgentEvent>(event: E, returned: unknown): E {
  if (typeof returned !== 'object' || (returned as AgentEvent).type !== event.type) {
    throw new AgentError('HOOK_ERROR', `A hook returned something else than a ${event.type} event.`, { details: { event: event.type } });
  }
  // Where and when an event happened is not a hook's to change.
  const { runId, sessionId, seq, iteration, agentPath, at } = event;
  return { ...(returned as E), runId, sessionId, seq, iteration, agentPath, at };
}
