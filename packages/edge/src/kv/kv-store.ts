import { AgentError, errorText, type KeyValueStore } from '@isoloop/core';
import {
  checkFields,
  checkOptions,
  nonNegative,
  object,
  optional,
  type OptionTable,
} from '@isoloop/core/options';
import { echoMemoryOptions, type EchoMemoryOptions } from './log/echo-memory.ts';
import { sleepFor } from '@isoloop/core/wait';
import type { StoreFeatures } from '@isoloop/core/memory';
import { inPages } from '../durable/in-pages.ts';

/** When values in KV expire, and how long a refused write waits for its next try. */
export interface KvStoreOptions {
  /**
   * Time until a value expires, in seconds after its last write. Minimum: 60. Default: values do
   * not expire.
   */
  readonly expirationTtl?: number;
  /**
   * Milliseconds before a refused write is tried again. Default: 1100, because KV accepts one write
   * per second for each key. Each further wait is longer by this time. A random part of up to the
   * same length is added, so that two writers do not meet again.
   */
  readonly retryDelayMs?: number;
  /** Function that waits for a number of milliseconds. Default: uses `setTimeout`. */
  readonly sleep?: (ms: number) => Promise<void>;
  /** Returns a random number, at least 0 and less than 1, for the waits. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Maximum size of a value, in bytes: https://developers.cloudflare.com/kv/platform/limits/ */
const maxValueBytes = 25 * 1024 * 1024;
const maxKeyBytes = 512;
const minTtl = 60;
/** Maximum number of keys in one bulk read. */
const pageSize = 100;
/** Maximum number of attempts for a write that KV refuses because of its rate limit. */
const maxAttempts = 5;

/**
 * Key-value store in Cloudflare KV. KV is eventually consistent: for about a minute after a write,
 * other locations may still read the old value, or no value. Writes are neither atomic nor
 * conditional.
 */
export class KvStore implements KeyValueStore {
  readonly features: StoreFeatures;
  readonly #kv: KVNamespace;
  readonly #putOptions: KVNamespacePutOptions;
  readonly #retryDelayMs: number;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #random: () => number;

  /** Throws `CONFIGURATION` for an `expirationTtl` of less than 60 seconds. */
  constructor(kv: KVNamespace, options: KvStoreOptions = {}) {
    // Accepts the options of `KvMemory`, which passes all of its options.
    checkOptions('KvStore', options, kvStoreOptions);
    checkFields('KvStore', { kv }, { kv: object });
    const { expirationTtl, retryDelayMs = 1100, random = Math.random } = options;
    if (expirationTtl !== undefined && !(expirationTtl >= minTtl)) {
      throw new AgentError(
        'CONFIGURATION',
        `KV keeps values for ${minTtl} seconds or longer; expirationTtl is ${expirationTtl}`,
      );
    }
    this.features = {
      atomic: false,
      compareAndSet: false,
      maxValueBytes,
      expires: expirationTtl !== undefined,
    };
    this.#kv = kv;
    this.#putOptions = expirationTtl === undefined ? {} : { expirationTtl };
    this.#retryDelayMs = retryDelayMs;
    this.#sleep = options.sleep ?? sleepFor;
    this.#random = random;
  }

  async get(key: string): Promise<string | undefined> {
    return (await request('read', () => this.#kv.get(key))) ?? undefined;
  }

  async getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const pages = inPages(keys, pageSize).map((page) => this.#getPage(page));
    const values = await Promise.all(pages);
    return new Map(values.flat());
  }

  async set(key: string, value: string): Promise<void> {
    checkKey(key);
    for (let attempt = 1; ; attempt++) {
      try {
        return await request('write', () => this.#kv.put(key, value, this.#putOptions));
      } catch (error) {
        if (attempt === maxAttempts || statusOf(error) !== 429) throw error;
        await this.#sleep(this.#retryDelayMs * attempt * (1 + this.#random()));
      }
    }
  }

  async setMany(entries: readonly (readonly [key: string, value: string])[]): Promise<void> {
    for (const [key, value] of entries) await this.set(key, value);
  }

  async delete(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => request('delete', () => this.#kv.delete(key))));
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await request('list', () =>
        this.#kv.list({ prefix, ...(cursor !== undefined && { cursor }) }),
      );
      names.push(...page.keys.map(({ name }) => name));
      if (page.list_complete) return names;
      cursor = page.cursor;
    }
  }

  /**
   * Reads the values of one page of keys. A bulk read returns at most 25 MiB. If the values are
   * larger, reads each half of the page separately.
   */
  async #getPage(keys: readonly string[]): Promise<readonly (readonly [string, string])[]> {
    try {
      const values = await request('read', () => this.#kv.get([...keys]));
      return [...values].flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]));
    } catch (error) {
      // KV refuses a read of too many bytes with this status.
      if (statusOf(error) !== 413) throw error;
      const [onlyKey] = keys;
      if (keys.length === 1 && onlyKey !== undefined) {
        const value = await this.get(onlyKey);
        return value === undefined ? [] : [[onlyKey, value]];
      }
      const middle = Math.ceil(keys.length / 2);
      return [
        ...(await this.#getPage(keys.slice(0, middle))),
        ...(await this.#getPage(keys.slice(middle))),
      ];
    }
  }
}

const kvStoreOptions: OptionTable<KvStoreOptions & EchoMemoryOptions> = {
  expirationTtl: optional(nonNegative),
  retryDelayMs: optional(nonNegative),
  ...echoMemoryOptions,
};

/**
 * Runs a KV operation and converts its errors to `AgentError`. Reads the HTTP status or the
 * exceeded limit from the error's message, because KV's errors have no other details.
 */
async function request<T>(action: string, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (cause) {
    const message = errorText(cause);
    const status = Number(/\b[45]\d\d\b/.exec(message)?.[0] ?? 0);
    if (/limit exceeded for the day/i.test(message)) {
      throw new AgentError(
        'STORAGE_QUOTA',
        `Today's KV ${action}s are used up: the conversation could not be read or saved.`,
        { cause },
      );
    }
    const retryable = status === 0 || status === 429 || status >= 500;
    throw new AgentError('STORAGE_FAILED', `KV ${action} failed: ${message}`, {
      cause,
      retryable,
      details: { status },
    });
  }
}

function checkKey(key: string): void {
  // Keys are ASCII, so their length in bytes equals their length in characters.
  if (key.length > maxKeyBytes)
    throw new AgentError(
      'STORAGE_FAILED',
      `A key in KV has at most ${maxKeyBytes} bytes; this one has ${key.length}`,
    );
}

function statusOf(error: unknown): unknown {
  return AgentError.is(error) && error.details?.['status'];
}
