import { AgentError, errorText, misconfigured, invalidInput } from '../error/agent-error.ts';
import { freeze } from '../message/freeze.ts';
import { trackValues, updateValues, type Values } from '../memory/log/session-values.ts';
import { logMemoryOf, type Memory } from '../memory/memory.ts';
import { jsonForm, type JsonValue } from '../message/json.ts';
import { userText } from '../message/msg.ts';
import type { ModelContext, RunInfo } from '../model/chat-model.ts';
import { isAnswerReason } from '../event/agent-result.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import type { EarlyRun, Middleware, RunView } from '../agent/middleware.ts';
import { ownPrefix, type StateKey } from './state-key.ts';
import { checkFields, checkObject } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, object, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';

// The key alone determines the types of its updates and its value.
type AnyKey = StateKey<unknown, never>;
/** Keys of a session's values, by name. */
export type StateKeys = Readonly<Record<string, AnyKey>>;
type ValueOf<K> = K extends StateKey<infer V, never> ? V : never;
type UpdateOf<K> = K extends { reduce(value: never, update: infer U): unknown } ? U : never;

/**
 * The values of one session. The values of a stored session are known once its log was read: at
 * `run-start` of an agent call, or after `await agent.messages()`. Earlier, `read` and `all` return
 * initial values with the updates so far. When the log is read, these updates are applied to the
 * log's values.
 */
interface SessionState<K extends StateKeys> {
  /**
   * Returns the value of a key, frozen. Before the first write, returns the key's initial value.
   * Throws `INVALID_INPUT` for an unknown key.
   */
  read<N extends keyof K>(name: N): ValueOf<K[N]>;
  /** Returns the values of all keys, frozen. */
  all(): { readonly [N in keyof K]: ValueOf<K[N]> };
  /**
   * Applies each update with the strategy of its key. Applies all updates or none. Throws
   * `INVALID_INPUT` for an unknown key or a value without a JSON form.
   */
  write(updates: { readonly [N in keyof K]?: UpdateOf<K[N]> }): void;
  /** Replaces a value without the key's strategy. Default of `value`: the initial value. */
  reset<N extends keyof K>(name: N, value?: ValueOf<K[N]>): void;
}

/**
 * An object that gives access to the state: a tool's context, a hook's event, the `run` of
 * middleware, or an agent. The `run` and an agent always work. The other objects work only during
 * their run.
 */
export type StateSource =
  | Pick<RunView, 'state'>
  | Pick<RunInfo, 'runId'>
  | Pick<ModelContext, 'run'>
  | { readonly status: AgentStatus; readonly memory?: Memory };

/** Keys that `stateKeys()` fills with the input and the answer of each agent call. */
export interface StateKeysOptions<K extends StateKeys> {
  /** Key that stores the text of an agent call's input, after guards and `pre-call` hooks. */
  readonly inputKey?: keyof K & string;
  /**
   * Key that stores the answer of an agent call: its `output` or, without `output`, its text.
   * Source: Spring AI Alibaba, `outputKey`.
   */
  readonly outputKey?: keyof K & string;
}

/** What `stateKeys()` returns: middleware that gives access to the values of a session. */
export interface StateMiddleware<K extends StateKeys> extends Middleware {
  /**
   * Returns the session's state. Throws `CONFIGURATION` if this middleware is not in the agent's
   * `use` list, or the run has ended.
   */
  of(source: StateSource): SessionState<K>;
}

/**
 * Keeps values of your own in a session. Hooks, middleware and tools can read and write these
 * values. Each key has a JSON value and a strategy for updates, so that concurrent tools do not
 * undo each other's updates.
 *
 * The values belong to the agent (`agent.status`). They are saved and loaded with its state, and
 * stored in the log of a `SessionMemory`. An agent call fails with `INVALID_STATE` if a saved value
 * does not fit its key. Throws `CONFIGURATION` for an invalid key. Source: Spring AI Alibaba,
 * `KeyStrategy`.
 */
export function stateKeys<const K extends StateKeys>(
  keys: K,
  options: StateKeysOptions<K> = {},
): StateMiddleware<K> {
  checkKeys(keys, options);
  const { inputKey, outputKey } = options;
  /** The states of the running agent calls, by run. */
  const running = new Map<string, SessionState<K>>();
  const of = (source: StateSource): SessionState<K> => stateOf(keys, running, source);
  return {
    of,
    // Two lists of keys in one agent must have different names.
    name: ['stateKeys', ...Object.keys(keys)].join(':'),
    onError: 'fail',
    on: {
      'run-start': {
        // This hook runs before all hooks that may read the state.
        priority: -Number.MAX_SAFE_INTEGER,
        handle: (_event, run) => load(run),
      },
      'pre-call': {
        // This hook runs after all hooks that may change the input.
        priority: Number.MAX_SAFE_INTEGER,
        handle(event) {
          if (inputKey !== undefined && event.input.some(({ role }) => role === 'user'))
            of(event).write({ [inputKey]: userText(event.input) } as never);
        },
      },
    },
    wrapRun: async (input, next, run) => {
      await load(run);
      checkSaved(keys, run.state);
      const state = sessionState(keys, () => run.state);
      running.set(run.runId, state);
      try {
        const result = await next(input);
        if (outputKey !== undefined && isAnswerReason(result.reason)) {
          state.write({ [outputKey]: result.output ?? result.text } as never);
          // The answer is valid even if this write fails. The next write reports the failure.
          await run.log.store().catch(() => {});
        }
        return result;
      } finally {
        running.delete(run.runId);
      }
    },
  };
}

function checkKeys(keys: StateKeys, options: object): void {
  checkFields('stateKeys()', { keys }, { keys: object });
  checkOptions('stateKeys()', options, stateKeysOptions);
  for (const [name, key] of Object.entries(keys)) {
    checkFields(`stateKeys(): ${name}`, key, { reduce: func, is: func });
    if (name === '__proto__' || name.startsWith(ownPrefix))
      throw misconfigured(
        `"${name}" cannot be a state key: names that begin with "${ownPrefix}" are reserved.`,
      );
  }
  for (const [option, name] of Object.entries(options as Record<string, string | undefined>))
    if (name !== undefined && !Object.hasOwn(keys, name))
      throw misconfigured(
        `stateKeys(): ${option}: there is no state key "${name}". ${listOf(keys)}`,
      );
}

const stateKeysOptions: OptionTable<StateKeysOptions<StateKeys>> = {
  inputKey: optional(string),
  outputKey: optional(string),
};

/** Throws `INVALID_STATE` if a saved value does not fit its key. */
function checkSaved(keys: StateKeys, values: Values): void {
  const unfitName = Object.keys(keys).find((name) => !fits(keys[name]!, values, name));
  if (unfitName === undefined) return;
  const message = `The saved value of "${unfitName}" does not fit its state key.`;
  throw new AgentError('INVALID_STATE', message);
}

function stateOf<K extends StateKeys>(
  keys: K,
  running: ReadonlyMap<string, SessionState<K>>,
  source: StateSource,
): SessionState<K> {
  if ('status' in source) {
    const { status } = source;
    if (source.memory && logMemoryOf(source.memory)) trackValues(status.state);
    return sessionState(keys, () => status.state);
  }
  if ('state' in source) return sessionState(keys, () => source.state);
  const run = 'runId' in source ? source : source.run;
  const found = run && running.get(run.runId);
  if (found) return found;
  throw misconfigured(
    'There is no state here. Add stateKeys() to the agent’s `use` list. At `run-start`, `error` and `run-end`, pass the `run` of the hook.',
  );
}

/**
 * Reads the log's values. If the store fails, the next operation of the agent call reports the
 * failure.
 */
async function load(run: EarlyRun): Promise<void> {
  await run.log.load().catch((error: unknown) => {
    if (AgentError.is(error) && error.code === 'INVALID_STATE') throw error;
  });
}

function sessionState<K extends StateKeys>(keys: K, values: () => Values): SessionState<K> {
  const readValue = (name: string): unknown => freeze(valueOf(keyOf(keys, name), values(), name));
  return {
    read: (name) => readValue(name as string) as never,
    all: () =>
      Object.fromEntries(Object.keys(keys).map((name) => [name, readValue(name)])) as never,
    write(updates) {
      checkObject('The updates', updates, 'INVALID_INPUT');
      const changes = Object.entries(updates).map(([name, update]) =>
        changeOf(keyOf(keys, name), name, toJson(name, update)),
      );
      const apply = (target: Values): void =>
        void Object.assign(target, ...changes.map((change) => change(target)));
      updateValues(values(), apply, Object.keys(updates));
    },
    reset(keyName, value) {
      const name = keyName as string;
      const key = keyOf(keys, name);
      const newValue = value === undefined ? undefined : toJson(name, value);
      if (newValue !== undefined && !key.is(newValue))
        throw invalidInput(`The value does not fit the state key "${name}".`);
      const apply = (target: Values): void => {
        if (newValue === undefined) delete target[name];
        else target[name] = newValue;
      };
      updateValues(values(), apply, [name]);
    },
  };
}

function fits(key: AnyKey, values: Values, name: string): boolean {
  return !Object.hasOwn(values, name) || key.is(values[name]!);
}

function valueOf({ initial }: AnyKey, values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : initial;
}

/**
 * Returns a function that returns the key's new value after an update. The function throws
 * `INVALID_STATE` if the key's strategy cannot apply the update to the current value.
 */
function changeOf(key: AnyKey, name: string, update: JsonValue): (values: Values) => Values {
  return (values) => {
    const value = freeze(valueOf(key, values, name)) as never;
    try {
      if (!fits(key, values, name)) throw new Error('the saved value does not fit the key');
      return { [name]: toJson(name, key.reduce(value, freeze(update) as never)) };
    } catch (cause) {
      const message = `The state key "${name}" cannot take an update: ${errorText(cause)}`;
      throw new AgentError(AgentError.from(cause, 'INVALID_STATE').code, message, { cause });
    }
  };
}

function keyOf(keys: StateKeys, name: PropertyKey): AnyKey {
  if (Object.hasOwn(keys, name)) return keys[name as string]!;
  throw invalidInput(`There is no state key "${String(name)}". ${listOf(keys)}`);
}

function listOf(keys: StateKeys): string {
  return `There are: ${Object.keys(keys).join(', ') || 'none'}.`;
}

/** Returns a copy as JSON, so that later changes of the original have no effect. */
function toJson(name: PropertyKey, value: unknown): JsonValue {
  const what = `The value of the state key "${String(name)}"`;
  const copy = jsonForm(value, what);
  if (copy === undefined) throw invalidInput(`${what} is missing.`);
  return copy;
}
