import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import { freeze } from '../event/hook-dispatcher.ts';
import type { JsonValue } from '../message/json.ts';
import { userText } from '../message/message-text.ts';
import { parseJson } from '../message/parse-json.ts';
import type { ModelContext, RunInfo } from '../model/chat-model.ts';
import type { StopReason } from '../event/agent-result.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import type { AgentCall, Middleware } from '../loop/use/middleware.ts';
import type { RunContext } from '../loop/run/run-context.ts';
import { replace, type StateKey } from './state-key.ts';

// The types of updates and values depend on the key alone.
type AnyKey = StateKey<unknown, never>;
export type StateKeys = Readonly<Record<string, AnyKey>>;
type ValueOf<K> = K extends StateKey<infer V, never> ? V : never;
type UpdateOf<K> = K extends { reduce(value: never, update: infer U): unknown } ? U : never;

/** The state of one session. */
export interface SessionState<K extends StateKeys> {
  /**
   * Returns a key's value, frozen; the key's initial value before the first write. Throws
   * `INVALID_INPUT` for an unknown key, as `write` does.
   */
  read<N extends keyof K>(name: N): ValueOf<K[N]>;
  /** Returns the values of all keys, frozen. */
  all(): { readonly [N in keyof K]: ValueOf<K[N]> };
  /**
   * Applies updates by their keys' strategies, all or none. Throws `INVALID_INPUT` for a value
   * without a JSON form.
   */
  write(updates: { readonly [N in keyof K]?: UpdateOf<K[N]> }): void;
  /** Replaces a value without using the strategy; default: back to the initial value. */
  reset<N extends keyof K>(name: N, value?: ValueOf<K[N]>): void;
}

/**
 * An object that gives access to the state: a tool's context, a hook's event, a wrapper's context,
 * or an agent. A `RunContext` and an agent always work; the others work only while their run lasts.
 */
export type StateSource =
  | Pick<RunContext, 'state'>
  | Pick<RunInfo, 'runId'>
  | Pick<ModelContext, 'run'>
  | { readonly status: AgentStatus };

export interface StateKeysOptions<K extends StateKeys> {
  /** The key that stores the text of a call's input, after guards and `pre-call` hooks. */
  readonly inputKey?: keyof K & string;
  /**
   * The key that stores a call's answer: its `output` if it has one, else its text (Spring AI
   * Alibaba: `outputKey`).
   */
  readonly outputKey?: keyof K & string;
}

export interface StateMiddleware<K extends StateKeys> extends Middleware {
  readonly wrapRun: (next: AgentCall) => AgentCall;
  /**
   * Returns the session's state. Throws `CONFIGURATION` if this middleware is not in the agent's
   * `use` list, or the run has ended.
   */
  of(source: StateSource): SessionState<K>;
}

const ownPrefix = 'isoloop:';
const answered: readonly StopReason[] = [
  'stop',
  'return-direct',
  'max-iterations',
  'limit',
  'stopped-by-hook',
];

/**
 * Adds values to a session that hooks, middleware and tools read and write (Spring AI Alibaba:
 * `KeyStrategy`). Each key holds JSON and has a strategy for updates, so that concurrent tools do
 * not undo each other's updates.
 *
 * The values belong to the agent (`agent.status`). They are saved and loaded with its state, and
 * stored in the log of a `SessionMemory`. A call fails with `INVALID_STATE` if a saved value does
 * not fit its key. Throws `CONFIGURATION` for an invalid key.
 */
export function stateKeys<const K extends StateKeys>(
  keys: K,
  options: StateKeysOptions<K> = {},
): StateMiddleware<K> {
  checkFields('CONFIGURATION', 'stateKeys()', { keys }, 'keys:object');
  checkFields('CONFIGURATION', 'stateKeys()', options, 'inputKey:string|? outputKey:string|?');
  for (const [name, key] of Object.entries(keys)) {
    checkFields('CONFIGURATION', `stateKeys(): ${name}`, key, 'reduce:function is:function');
    if (name === '__proto__' || name.startsWith(ownPrefix))
      throw new AgentError('CONFIGURATION', `"${name}" cannot be a state key.`);
  }
  const { inputKey, outputKey } = options;
  for (const name of [inputKey, outputKey])
    if (name !== undefined) keyOf(keys, name, 'CONFIGURATION');
  const state = sessionStates(keys);
  const put = (of: StateSource, name: string, value: unknown): void =>
    state.of(of).write({ [name]: value } as never);
  return {
    ...state,
    name: 'stateKeys',
    on: {
      'pre-call': {
        // After all hooks that may change the input.
        priority: Number.MAX_SAFE_INTEGER,
        handle(event) {
          if (inputKey !== undefined && event.input.some(({ role }) => role === 'user'))
            put(event, inputKey, userText(event.input));
        },
      },
    },
    wrapRun: (next) =>
      state.wrapRun(async (input, context) => {
        const result = await next(input, context);
        if (outputKey !== undefined && answered.includes(result.reason)) {
          put(context, outputKey, result.output ?? result.text);
          // The answer is valid even if the store fails; the next write reports a store that fails.
          await context.storeState().catch(() => {});
        }
        return result;
      }),
  };
}

/** Keeps a value with a session, under a name that no key of a program can have. */
export function ownState<T>(
  name: string,
  initial: T,
): StateMiddleware<{ readonly [name: string]: StateKey<T, T> }> {
  return sessionStates({ [ownPrefix + name]: replace(initial) });
}

export function ownName(name: string): string {
  return ownPrefix + name;
}

function sessionStates<K extends StateKeys>(keys: K): StateMiddleware<K> {
  const running = new Map<string, SessionState<K>>();
  return {
    of(source) {
      if ('status' in source) return sessionState(keys, source.status.state);
      if ('state' in source) return sessionState(keys, source.state);
      const about = 'runId' in source ? source : source.run;
      const found = about && running.get(about.runId);
      if (found) return found;
      throw new AgentError(
        'CONFIGURATION',
        'There is no state here. Add stateKeys() to the agent’s `use` list. At `run-start`, `error` and `run-end`, use the context.',
      );
    },
    wrapRun: (next) => async (input, context) => {
      // If the store fails, the call's next operation reports it.
      if (input) await context.loadState().catch(() => {});
      const values = context.state;
      for (const [name, key] of Object.entries(keys)) {
        if (Object.hasOwn(values, name) && !key.is(values[name]!)) {
          throw new AgentError(
            'INVALID_STATE',
            `The saved value of "${name}" does not fit its state key.`,
          );
        }
      }
      running.set(context.runId, sessionState(keys, values));
      try {
        return await next(input, context);
      } finally {
        running.delete(context.runId);
      }
    },
  };
}

function sessionState<K extends StateKeys>(
  keys: K,
  values: Record<string, JsonValue>,
): SessionState<K> {
  const read = (name: PropertyKey): unknown => {
    const { initial } = keyOf(keys, name);
    return freeze(Object.hasOwn(values, name) ? values[name as string] : initial);
  };
  return {
    read: (name) => read(name) as never,
    all: () => Object.fromEntries(Object.keys(keys).map((name) => [name, read(name)])) as never,
    write(updates) {
      checkFields('INVALID_INPUT', 'The updates', updates, '');
      const next = Object.entries(updates).map(([name, update]) => {
        const key = keyOf(keys, name);
        return [name, toJson(name, key.reduce(read(name), toJson(name, update) as never))] as const;
      });
      for (const [name, value] of next) values[name] = value;
    },
    reset(name, value) {
      const key = keyOf(keys, name);
      if (value === undefined) delete values[name as string];
      else if (key.is(toJson(name, value))) values[name as string] = toJson(name, value);
      else
        throw new AgentError(
          'INVALID_INPUT',
          `The value does not fit the state key "${String(name)}".`,
        );
    },
  };
}

function keyOf(
  keys: StateKeys,
  name: PropertyKey,
  code: 'INVALID_INPUT' | 'CONFIGURATION' = 'INVALID_INPUT',
): AnyKey {
  if (Object.hasOwn(keys, name)) return keys[name as string]!;
  throw new AgentError(code, `There is no state key "${String(name)}".`);
}

/** Returns a copy as JSON, so that nobody can change it afterwards. */
function toJson(name: PropertyKey, value: unknown): JsonValue {
  let copy: JsonValue | undefined;
  try {
    copy = parseJson(JSON.stringify(value) ?? '');
  } catch {
    // A cycle or a bigint counts as no value.
  }
  if (copy === undefined)
    throw new AgentError(
      'INVALID_INPUT',
      `The value of the state key "${String(name)}" cannot be written as JSON.`,
    );
  return copy;
}
