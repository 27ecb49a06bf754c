import {
  AgentError,
  type AgentEvent,
  type AgentHook,
  type Awaitable,
  type EventOf,
  type Middleware,
  type Msg,
  type Run,
} from '@isoloop/core';
import {
  checkFields,
  checkOptions,
  array,
  func,
  number,
  oneOf,
  optional,
  string,
  type OptionTable,
} from '@isoloop/core/options';
import type { EventType, HookHandler, ControlCall } from '@isoloop/core/event';
import { nestedHooks, perRun } from '@isoloop/core/agent';
import { openToolUses } from '@isoloop/core/message';

type Handler<K extends EventType> = HookHandler<K, Run>;

/**
 * Handlers at the four positions around agent and model. An event that a handler returns replaces
 * the event, as with any hook.
 */
export interface PositionHook {
  /** Name of the hook. Two hooks must not have the same name. */
  readonly name: string;
  /**
   * Order of the hook. Before the agent and the model, lower priorities run first. After them,
   * lower priorities run last. Default: 0.
   */
  readonly priority?: number;
  readonly onError?: AgentHook['onError'];
  /**
   * Runs once per agent call. It does not run again if a later run continues the agent call, for
   * example after a decision. A jump takes effect before the first model request.
   */
  readonly beforeAgent?: Handler<'pre-call'>;
  readonly beforeModel?: Handler<'pre-reasoning'>;
  readonly afterModel?: Handler<'post-reasoning'>;
  /**
   * Runs once per agent call, also if a jump ended the agent call. It does not run if the agent
   * call was interrupted, aborted or rejected. If the agent call suspends, pauses or stops with
   * open tool calls, it runs in the run that ends the agent call. It cannot jump.
   */
  readonly afterAgent?: Handler<'post-call'>;
}

/**
 * Runs hooks around the agent and around each model request (Spring AI Alibaba). Hooks before the
 * agent or model run in order, and hooks after them in reverse order. If a hook redirects the loop
 * (`jumpTo`, `stop`, `gotoReasoning`), the later hooks at that position do not run. Before the
 * model, `jumpTo('model')` does nothing else. Throws `CONFIGURATION` for two hooks of the same
 * name.
 */
export function positionHooks(hooks: readonly PositionHook[]): Middleware {
  checkPositionHooks(hooks);
  const inward = hooks.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0)).map(asAgentHook);
  const outward = inward.toReversed();
  const stateOf = perRun((): PositionState => ({ isSuspended: false }));
  return {
    // Two lists of hooks in one agent must have different names.
    name: ['positionHooks', ...inward.map(({ name }) => name)].join(':'),
    // An error that reaches this point must fail the agent call: each hook's own `onError` was
    // applied before.
    onError: 'fail',
    on: {
      'pre-call'(event, run) {
        if (!run.resumes) return askInOrder(inward, event, run);
        stateOf(run).lastId = run.messages.at(-1)?.id;
        return undefined;
      },
      'pre-reasoning': (event, run) => askInOrder(inward, event, run),
      'post-reasoning': (event, run) => askInOrder(outward, event, run),
      'post-call'(event, run) {
        const isOver = endsCall(stateOf(run), run, event.message);
        return isOver ? askInOrder(outward, event, run) : undefined;
      },
      suspended(_event, run) {
        stateOf(run).isSuspended = true;
      },
    },
  };
}

/** State of one run. An agent call takes several runs if it suspends and continues. */
interface PositionState {
  isSuspended: boolean;
  /** Id of the last message in the session log when this run continued the agent call. */
  lastId?: string | undefined;
}

/**
 * Returns whether the agent call ends with this run. Returns false if the agent call waits for a
 * decision or a result. Also returns false if an earlier run ended it and this run only returns the
 * answer again.
 */
function endsCall(state: PositionState, { messages }: Run, message: Msg): boolean {
  const isStored = messages.some(({ id }) => id === message.id);
  const isToldAgain = isStored && state.lastId === message.id;
  const isOpen = openToolUses(isStored ? messages : [...messages, message]).length > 0;
  return !state.isSuspended && !isToldAgain && !isOpen;
}

/** Throws `CONFIGURATION` for invalid hooks. */
function checkPositionHooks(hooks: readonly PositionHook[]): void {
  checkFields('positionHooks()', { hooks }, { hooks: array });
  const where = 'positionHooks(): each of hooks';
  const names = new Set<string>();
  for (const hook of hooks) {
    checkFields(where, hook, positionHook);
    // An object of a class may have other values. A function of another name would never run.
    const fields = Object.entries(hook);
    const functions = Object.fromEntries(fields.filter(([, value]) => typeof value === 'function'));
    checkOptions(where, functions, positions);
    if (names.has(hook.name))
      throw new AgentError(
        'CONFIGURATION',
        `${where}: two are named "${hook.name}". Give each its own name.`,
      );
    names.add(hook.name);
  }
}

const positions: OptionTable<Omit<PositionHook, 'name' | 'priority' | 'onError'>> = {
  beforeAgent: optional(func),
  beforeModel: optional(func),
  afterModel: optional(func),
  afterAgent: optional(func),
};

const positionHook: OptionTable<PositionHook> = {
  name: string,
  priority: optional(number),
  onError: optional(oneOf('fail', 'ignore')),
  ...positions,
};

/** Returns the handlers of a position hook by their events. */
function asAgentHook(hook: PositionHook): AgentHook {
  return {
    name: hook.name,
    ...(hook.onError && { onError: hook.onError }),
    on: {
      'pre-call': (...args) => hook.beforeAgent?.(...args),
      'pre-reasoning': (...args) => hook.beforeModel?.(...args),
      'post-reasoning': (...args) => hook.afterModel?.(...args),
      'post-call': (...args) => hook.afterAgent?.(...args),
    },
  };
}

/** Passes an event through the hooks until one of them uses a control. */
function askInOrder<K extends EventType>(
  hooks: readonly AgentHook[],
  event: EventOf<K>,
  run: Run,
): Awaitable<EventOf<K>> {
  return nestedHooks(run, hooks).ask<K>(event, (call, next) => {
    if (!isJumpToModel(call, event)) next(call);
    return true;
  });
}

/** Returns whether a hook before the model asks for what comes next anyway. */
function isJumpToModel({ name, args }: ControlCall, { type }: AgentEvent): boolean {
  const [to, messages] = args;
  return type === 'pre-reasoning' && name === 'jumpTo' && to === 'model' && messages === undefined;
}
