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
   * One or two texts of 32 characters or more: the first signs, both are accepted. Without secrets
   * there are no echoes.
   */
  readonly secrets?: readonly string[];
  /** The last echo (signed session token) that the client received, if any. */
  readonly echo?: string;
  /**
   * Lets a client without an echo `start` a new log (default), or continue from the `latest` state
   * that the store shows.
   */
  readonly withoutEcho?: 'start' | 'latest';
  /**
   * Waits for a time in milliseconds, between reads or before a failed write is repeated; default
   * `setTimeout`.
   */
  readonly sleep?: (ms: number) => Promise<void>;
  /**
   * Milliseconds for which a state older than the echo is read again before `SESSION_STALE`;
   * default 3000.
   */
  readonly waitMs?: number;
  /** Milliseconds for which the store may still show overwritten values; default 120,000. */
  readonly staleMs?: number;
  /**
   * Batches already read, shared by several memories of one store; used only with secrets. A memory
   * takes from it only what the store's head names. Default: each memory reads all of its session.
   */
  readonly cache?: BatchCache;
}

/** One of two branches of a session. */
export interface SessionBranch {
  readonly messages: readonly Msg[];
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** Echo with which a client continues this branch. */
  readonly echo: string;
}

/**
 * A conversation in a store without `compareAndSet` that may read late, such as Cloudflare KV. Each
 * turn is written once, and each request needs its own object. An echo makes this safe: a signed
 * session token that the client receives and sends with its next request.
 *
 * - `echo` holds `{ base, turnId }` from the first read on, and the new state after each flush.
 * - A state older than the echo is read again for `waitMs`, then rejects with `SESSION_STALE`
 *   (`details.retryAfterMs`).
 * - A state that does not continue the echo's state rejects with `SESSION_CONFLICT`: another writer
 *   came first and won. `branches` returns both branches, each with the echo that chooses it.
 * - A client that has only `{ base, turnId }` finds its turn's outcome, or continues from the base.
 * - An echo that was altered, or is of another session, rejects with `INVALID_INPUT`.
 *
 * Of two concurrent turns, the one that ends last goes after the other if it sees it. A turn that
 * starts a session (`withoutEcho: 'start'`) looks for others only after `leave`. No record is
 * overwritten, and only `clear` deletes records.
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
   * Echo that the client must send with its next request. Absent before the session was read, and
   * without secrets.
   */
  get echo(): string | undefined {
    return this.#log?.echo;
  }

  /**
   * Tells that the turn's client has left and may return with another turn before this one is
   * written. A turn that begins a session then checks, before it writes, whether the other turn
   * began it too. If so, this turn goes after the other one.
   */
  leave(): void {
    this.#log?.leave();
  }

  /**
   * Returns the client's branch and the one that won after a `SESSION_CONFLICT`, each as far as it
   * can be read. Otherwise returns only `yours`, if there is one. Returns neither without secrets.
   * Rejects as `read` does.
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
