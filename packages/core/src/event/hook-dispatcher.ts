import { AgentError, errorText } from '../error/agent-error.ts';
import type { AgentEvent, EventOf, EventType } from './agent-event.ts';
import type { BoundedWaits } from '../wait/bounded/bounded-waits.ts';
import { checkEvent } from './check-event.ts';
import { isMisuse, withControls, withoutControls, type OnControl } from './hook-controls.ts';
import type { Awaitable, Hook } from './hook.ts';

type Raw = (event: AgentEvent, run: unknown) => Awaitable<AgentEvent | void>;

interface Handler {
  readonly hook: Hook<never>;
  /** Name of the hook in errors. */
  readonly name: string;
  readonly handle: Raw;
  readonly priority: number;
}

interface HookDispatcherOptions {
  /** Returns the second argument of each handler. */
  readonly run: () => unknown;
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
    onControl?: OnControl,
    renew: Renew<K> = (changed) => changed,
  ): Awaitable<EventOf<K>> {
    return this.#isHandled(event) ? this.#pass(event, onControl, renew) : event;
  }

  /**
   * Notifies all hooks, even if a hook fails, and returns the event unchanged. Returns no promise
   * if no hook handles the event.
   */
  tell<K extends EventType>(event: EventOf<K>, onControl?: OnControl): Awaitable<EventOf<K>> {
    return this.#isHandled(event) ? this.#pass(event, onControl) : event;
  }

  #isHandled({ type }: AgentEvent): boolean {
    return this.handlers(type).length > 0;
  }

  /** Calls the handlers one after the other. Without `renew`, they cannot change the event. */
  async #pass<K extends EventType>(
    event: EventOf<K>,
    onControl?: OnControl,
    renew?: Renew<K>,
  ): Promise<EventOf<K>> {
    let current: EventOf<K> = event;
    let failure: unknown;
    let isOver = false;
    const onHandlersControl: OnControl | undefined =
      onControl &&
      ((call) => {
        isOver = onControl(call) === true || isOver;
        return isOver;
      });
    for (const handler of this.handlers((event as AgentEvent).type)) {
      if (isOver) break;
      try {
        const work = this.#handle(handler, current, onHandlersControl);
        const result = await this.#options.waits.forHook(work, !renew);
        if (!renew || !result) continue;
        checkEvent(result, event, handler.name);
        // A handler may return the event that another handler got.
        current = await renew(withoutControls(result as EventOf<K>));
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
    onControl?: OnControl,
  ): Promise<AgentEvent | void> {
    const { run, onError: onAnyError } = this.#options;
    const { onError = onAnyError } = hook;
    const handling = { hook: name, hasEnded: false };
    const handlersEvent = withControls(event, handling, onControl);
    try {
      const result = await handle.call(hook, handlersEvent, run());
      return result === handlersEvent ? undefined : result;
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

/** Returns the handlers of a hook for an event type: its own, then that of all events. */
function handlersOf(hook: Hook<never>, type: EventType): readonly Handler[] {
  const { name = 'unnamed', priority: hookPriority = 100, on = {} } = hook;
  const entries = [on[type], on['*']] as readonly (Raw | Partial<Handler> | undefined)[];
  return entries.flatMap((entry) => {
    const { handle, priority = hookPriority } =
      typeof entry === 'function' ? { handle: entry } : (entry ?? {});
    return handle ? [{ hook, name, handle, priority }] : [];
  });
}
