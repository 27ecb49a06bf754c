import { checkFields } from '../../error/check-fields.ts';
import type { Msg } from '../../message/msg.ts';
import type { BatchCache } from '../log/batch-cache.ts';
import { BranchLog } from './branch-log.ts';
import { recordsOf, type Branch } from './branch.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { SessionMemory, type SessionMemoryOptions } from '../session-memory.ts';
import { LogFold } from '../log/session-view.ts';

export interface EchoMemoryOptions extends Omit<SessionMemoryOptions, 'durability'> {
  /**
   * One or two texts of 32 characters or more: the first signs, both are accepted. Without them
   * there are no echoes.
   */
  readonly secrets?: readonly string[];
  /** The last echo that the client got, if it got one. */
  readonly echo?: string;
  /**
   * A client that has no echo `start`s a log of its own (default), or goes on from the `latest`
   * state that the store shows.
   */
  readonly withoutEcho?: 'start' | 'latest';
  /** How it waits between reads, in milliseconds; default `setTimeout`. */
  readonly sleep?: (ms: number) => Promise<void>;
  /**
   * Milliseconds that a state older than the echo is read again before `SESSION_STALE`; default
   * 3000.
   */
  readonly waitMs?: number;
  /** Milliseconds that the store may show what has been overwritten; default 120,000. */
  readonly staleMs?: number;
  /**
   * What the memories that share it, all of one store, have read; used with secrets. Only what the
   * store's head names is taken from it. Default: each memory reads all of its session.
   */
  readonly cache?: BatchCache;
}

/** One of two ways in which a session has gone on. */
export interface SessionBranch {
  readonly messages: readonly Msg[];
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** The client that sends it goes on with this branch. */
  readonly echo: string;
}

/**
 * A conversation in a store without `compareAndSet` that may read late, as Cloudflare's KV; written
 * once a turn, one object a request. What makes sure of it is an echo, signed, that the client gets
 * and brings with its next request:
 *
 * - `echo` tells `{ base, turnId }` from the first read on, and the new state after each flush.
 * - A state older than the echo is read again for `waitMs`, then `SESSION_STALE`
 *   (`details.retryAfterMs`).
 * - One that does not go on from the echo's: another writer came in between and won,
 *   `SESSION_CONFLICT`; `branches` has both, and with each the echo that chooses it.
 * - A client that has `{ base, turnId }` only finds its turn's outcome, or goes on from the base.
 * - An echo that is altered, or of another session: `INVALID_INPUT`.
 *
 * Of two turns at a time the one that ends last goes behind the other if it sees it; a session's
 * first looks once it is told to `leave`. No record is overwritten, and none deleted but by
 * `clear`.
 */
export class EchoMemory extends SessionMemory {
  readonly #log: BranchLog | undefined;

  /** Throws as `SessionMemory` does, and `CONFIGURATION` for the secrets. */
  constructor(store: KeyValueStore, sessionId: string, options: EchoMemoryOptions = {}) {
    const fields =
      'secrets:array|? withoutEcho:start|latest|? sleep:function|? waitMs:count|? staleMs:count|? cache:get()|?';
    checkFields('CONFIGURATION', 'EchoMemory', options, fields);
    const {
      secrets,
      echo,
      withoutEcho = 'start',
      sleep = wait,
      waitMs = 3000,
      staleMs = 120_000,
      cache,
      ...common
    } = options;
    const own = { echo, withoutEcho, sleep, waitMs, staleMs, cache };
    let log: BranchLog | undefined;
    super(store, sessionId, { ...common, durability: 'turn' }, (logOptions) => {
      if (!secrets) return undefined;
      log = new BranchLog(store, sessionId, { ...logOptions, ...own, secrets });
      return log;
    });
    this.#log = log;
  }

  /**
   * What the client is to send with its next request; absent before the session was read, and
   * without secrets.
   */
  get echo(): string | undefined {
    return this.#log?.echo;
  }

  /**
   * Tells that the client of the turn has gone, and may be back with another one before this one is
   * written. A turn that begins a session then reads, before it writes, whether that one has begun
   * it too, and goes behind it.
   */
  leave(): void {
    this.#log?.leave();
  }

  /**
   * After a `SESSION_CONFLICT` the client's branch and the one that won, each as far as it can be
   * read; else `yours` alone, if there is one. Neither without secrets. Rejects as `read` does.
   */
  branches(): Promise<{ readonly yours?: SessionBranch; readonly theirs?: SessionBranch }> {
    return this.run(async () => {
      const { yours, theirs } = (await this.#log?.branches()) ?? {};
      return {
        ...(yours && { yours: toSession(yours) }),
        ...(theirs && { theirs: toSession(theirs) }),
      };
    });
  }
}

function toSession(branch: Branch & { readonly echo: string }): SessionBranch {
  const { messages } = new LogFold().load(recordsOf(branch));
  return {
    messages,
    version: branch.head.version,
    updatedAt: branch.head.updatedAt,
    echo: branch.echo,
  };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
