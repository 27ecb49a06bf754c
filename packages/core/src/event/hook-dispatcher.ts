import { AgentError, errorText } from '../error/agent-error.ts';
import { isObjectOrArray } from '../message/json.ts';
import type { AgentEvent, EventOf, EventType } from './agent-event.ts';
import type { BoundedWaits } from '../wait/bounded-waits.ts';
import { checkEvent } from './check-event.ts';
import { controlsAt, isMisuse, type HandlerControls } from './hook-controls.ts';
import type { Awaitable, Hook } from './hook.ts';

type Raw = (event: AgentEvent, control: object, context: unknown) => Awaitable<AgentEvent | void>;

interface Handler {
  readonly hook: Hook<never>;
  /** Name of the hook in errors. */
  readonly name: string;
  readonly handle: Raw;
  readonly priority: number;
}

export interface HookDispatcherOptions {
  /** Third argument of each handler. */
  readonly context: unknown;
  /** Effect of an exception in a hook without its own `onError`. */
  readonly onError: 'fail' | 'ignore';
  readonly waits: BoundedWaits;
}

/** Completes an event that a hook returned. */
type Renew<K extends EventType> = (event: EventOf<K>) => Awaitable<EventOf<K>>;

/** Passes events to hooks, one after the other, in the order of their handlers' priority. */
export class HookDispatcher {
  readonly #hooks: () => readonly Hook<never>[];
  readonly #options: HookDispatcherOptions;
  readonly #handlers: Map<string, readonly Handler[]> = new Map();

  constructor(hooks: () => readonly Hook<never>[], options: HookDispatcherOptions) {
    this.#hooks = hooks;
    this.#options = options;
  }

  /** Returns a dispatcher for other hooks with the same options. */
  with(hooks: readonly Hook<never>[]): HookDispatcher {
    return new HookDispatcher(() => hooks, this.#options);
  }

  /** Asks for the hooks again at the next event. */
  refresh(): void {
    this.#handlers.clear();
  }

  /**
   * Passes a modifiable event through the hooks and returns the changed event. Each hook gets the
   * event that the previous hook returned. `renew` completes each event that a hook returns.
   * Returns no promise if no hook handles the event.
   */
  ask<K extends EventType>(
    event: EventOf<K>,
    control: HandlerControls = {},
    renew: Renew<K> = (changed) => changed,
  ): Awaitable<EventOf<K>> {
    return this.#isHandled(event) ? this.#pass(event, control, renew) : event;
  }

  /**
   * Notifies all hooks, even if a hook fails, and returns the event unchanged. Returns no promise
   * if no hook handles the event.
   */
  tell<K extends EventType>(
    event: EventOf<K>,
    control: HandlerControls = {},
  ): Awaitable<EventOf<K>> {
    return this.#isHandled(event) ? this.#pass(event, control) : event;
  }

  #isHandled({ type }: AgentEvent): boolean {
    return this.handlers(type).length > 0;
  }

  /** Calls the handlers one after the other. Without `renew`, they cannot change the event. */
  async #pass<K extends EventType>(
    event: EventOf<K>,
    control: HandlerControls,
    renew?: Renew<K>,
  ): Promise<EventOf<K>> {
    const { type }: AgentEvent = event;
    let current: EventOf<K> = event;
    let failure: unknown;
    for (const handler of this.handlers(type)) {
      if (control.isOver) break;
      try {
        const work = this.#handle(handler, current, control);
        const result = await this.#options.waits.forHook(work, !renew);
        if (!renew || !result || result === current) continue;
        checkEvent(result, event, handler.name);
        current = await renew(result as EventOf<K>);
      } catch (error) {
        if (renew) throw error;
        failure ??= error;
      }
    }
    if (failure) throw failure;
    return current;
  }

  /**
   * Returns the handlers of an event type. Caches the handlers, because a run sends thousands of
   * some events.
   */
  handlers(type: EventType): readonly Handler[] {
    let handlers = this.#handlers.get(type);
    if (!handlers) {
      handlers = this.#hooks()
        .flatMap((hook) => handlersOf(hook, type))
        .toSorted((one, other) => one.priority - other.priority);
      this.#handlers.set(type, handlers);
    }
    return handlers;
  }

  async #handle(
    { hook, name, handle }: Handler,
    event: AgentEvent,
    control: HandlerControls,
  ): Promise<AgentEvent | void> {
    const { context, onError: onAnyError } = this.#options;
    const { onError = onAnyError } = hook;
    const handling = { hook: name, hasEnded: false };
    const controls = controlsAt(event.type, control, handling);
    try {
      return await handle.call(hook, freeze(event), controls, context);
    } catch (error) {
      // The wrong use of a control is a bug in the program, so `ignore` does not apply.
      if (onError === 'ignore' && !isMisuse(error)) return undefined;
      if (AgentError.is(error)) throw error;
      const { type } = event;
      const message = `Hook "${name}" failed at ${type}: ${errorText(error)}`;
      throw new AgentError('HOOK_ERROR', message, {
        cause: error,
        details: { hook: name, event: type },
      });
    } finally {
      handling.hasEnded = true;
    }
  }
}

function handlersOf(hook: Hook<never>, type: EventType): readonly Handler[] {
  const entry = hook.on?.[type];
  const handlers = [
    typeof entry === 'function' ? { handle: entry } : entry,
    { handle: hook.onEvent },
  ] as readonly (Partial<Handler> | undefined)[];
  const { name = 'unnamed', priority: hookPriority = 100 } = hook;
  return handlers.flatMap(({ handle, priority = hookPriority } = {}) =>
    handle ? [{ hook, name, handle, priority }] : [],
  );
}

/**
 * Freezes a value and everything inside. A hook that writes to an event then fails. Such a change
 * could reach the log but not the readers.
 */
export function freeze<T>(value: T): T {
  if (isObjectOrArray(value) && !Object.isFrozen(value) && !ArrayBuffer.isView(value))
    Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}
