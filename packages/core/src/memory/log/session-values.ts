import {
  isSameJson,
  isObjectOrArray,
  type JsonObject,
  type JsonValue,
} from '../../message/json.ts';
import type { AgentStatus } from '../../event/agent-status.ts';
import { valuesKey } from '../store/storage-keys.ts';
import type { Flushes } from './log-record.ts';

/** Named values of a session; plain JSON. */
export type Values = Record<string, JsonValue>;

/** Function that changes values. It runs again if the log has other values. */
type ValueUpdate = (values: Values) => void;

/** An update that the log does not have yet. */
interface PendingUpdate {
  readonly apply: ValueUpdate;
  /** The first values with this update that were given to the log. They may not be stored yet. */
  note?: JsonObject | undefined;
  /** Whether the last comparison with the log included this update. */
  isCompared?: boolean;
}

const trackers: WeakMap<Values, SessionValues> = new WeakMap();

/**
 * The values of a session, and the updates that its log does not have yet. Code may change values
 * before the log is read, and another process may write to the log. The updates are then repeated
 * on the log's values, so that they do not replace other values.
 */
class SessionValues {
  /** The current values. All agents with one memory share this object. */
  readonly values: Values;
  #updates: PendingUpdate[] = [];
  /**
   * Each value after the last update, as JSON. If a value differs, code has assigned it directly.
   */
  readonly #jsonByName = new Map<string, string>();

  constructor(values: Values) {
    this.values = values;
  }

  /** Applies an update of the named values, and keeps the update until the log has it. */
  update(update: ValueUpdate, names?: readonly string[]): void {
    this.#takeAssignments(names);
    update(this.values);
    this.#updates.push({ apply: update });
    for (const name of names ?? this.#names()) this.#remember(name);
  }

  /**
   * Replaces the values with the log's values and repeats the updates on them. `pending`: values
   * that were given to the log and are not stored yet. Drops updates that fail, and throws the
   * first failure.
   */
  load(loggedValues: JsonValue | undefined, pending: ReadonlySet<unknown>): void {
    this.#takeAssignments();
    this.#updates = this.#updates.filter(({ note }) => !note || pending.has(note));
    this.#repeatOn(
      isObjectOrArray(loggedValues) ? structuredClone({ ...loggedValues } as Values) : {},
    );
  }

  /** Replaces the log's values with other values, and repeats the updates on them. */
  put(values: JsonObject): void {
    this.#takeAssignments();
    const apply = (target: Values): void => replaceAll(target, structuredClone(values));
    this.#updates.unshift({ apply, note: values });
    this.#repeatOn({});
  }

  #repeatOn(next: Values): void {
    const failures: unknown[] = [];
    this.#updates = this.#updates.filter(({ apply }) => {
      try {
        apply(next);
        return true;
      } catch (error) {
        failures.push(error);
        return false;
      }
    });
    replaceAll(this.values, next);
    for (const name of this.#names()) this.#remember(name);
    if (failures.length) throw failures[0];
  }

  /**
   * Adds the updates of an agent that had its own values until now. The agent then shares these
   * values.
   */
  shareWith(status: AgentStatus): void {
    for (const update of updatesOf(status.state)) this.update(update);
    status.state = this.values;
  }

  /** The updates that the log does not have yet. */
  get updates(): readonly ValueUpdate[] {
    this.#takeAssignments();
    return this.#updates.map(({ apply }) => apply);
  }

  clear(): void {
    this.#updates = [];
    this.#repeatOn({});
  }

  /** Returns the values to store if they differ from the log's values. */
  changes(logged: JsonValue | undefined): JsonObject | undefined {
    this.#takeAssignments();
    const isSame = !this.#updates.length || isSameJson(this.values, logged ?? {});
    const values = isSame ? undefined : structuredClone(this.values);
    for (const update of this.#updates) {
      update.isCompared = true;
      update.note ??= values;
    }
    return values;
  }

  /** Forgets the updates before the last comparison, because the log has them now. */
  forgetWritten(): void {
    this.#updates = this.#updates.filter(({ isCompared }) => !isCompared);
  }

  /** Converts direct assignments to updates. */
  #takeAssignments(names: Iterable<string> = this.#names()): void {
    for (const name of names) {
      const previousText = this.#jsonByName.get(name);
      const text = this.#remember(name);
      if (text === previousText) continue;
      const apply = (values: Values): void => {
        if (text === undefined) delete values[name];
        else values[name] = JSON.parse(text) as JsonValue;
      };
      this.#updates.push({ apply });
    }
  }

  /** Remembers a value as JSON, and returns the JSON. */
  #remember(name: string): string | undefined {
    const text = JSON.stringify(this.values[name]) as string | undefined;
    if (text === undefined) this.#jsonByName.delete(name);
    else this.#jsonByName.set(name, text);
    return text;
  }

  #names(): Iterable<string> {
    return new Set([...Object.keys(this.values), ...this.#jsonByName.keys()]);
  }
}

/** Starts to collect the updates of `values`, until a log has them. */
export function trackValues(values: Values): SessionValues {
  const tracker = trackers.get(values) ?? new SessionValues(values);
  trackers.set(values, tracker);
  return tracker;
}

function updatesOf(values: Values): readonly ValueUpdate[] {
  const tracker = trackers.get(values);
  if (tracker) return tracker.updates;
  const assigned = structuredClone(values);
  const assign = (target: Values): void => {
    Object.assign(target, assigned);
  };
  return [assign];
}

/**
 * Applies an update of the named values. If the values belong to a log, keeps the update until the
 * log has it.
 */
export function updateValues(values: Values, update: ValueUpdate, names: readonly string[]): void {
  const tracker = trackers.get(values);
  if (tracker) tracker.update(update, names);
  else update(values);
}

/** Returns the values that records set. */
export function valuesIn(records: Flushes[number]): readonly JsonObject[] {
  return records.flatMap((record) => {
    const values = record.kind === 'state' ? record.state[valuesKey] : undefined;
    return isObjectOrArray(values) ? [values as JsonObject] : [];
  });
}

export function replaceAll(values: Values, next: JsonObject): void {
  for (const name of Object.keys(values)) delete values[name];
  Object.assign(values, next);
}
