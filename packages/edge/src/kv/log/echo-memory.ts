import { omitUndefined } from '@isoloop/core/message';
import {
  SessionMemory,
  type KeyValueStore,
  type Msg,
  type SessionMemoryOptions,
} from '@isoloop/core';
import type { BatchCache } from './batch-cache.ts';
import { BranchLog, branchDefaults } from './branch-log.ts';
import type { Branch } from './branch.ts';
import { memoryOptions } from '@isoloop/core/host';
import { flushesOf, SessionFold } from '@isoloop/core/log';
import {
  anything,
  array,
  checkOptions,
  nonNegative,
  oneOf,
  optional,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';

/** How an `EchoMemory` signs session tokens and handles late reads. */
export interface EchoMemoryOptions extends Omit<SessionMemoryOptions, 'durability'> {
  /**
   * One or two secrets of 32 characters or more. The first secret signs echoes, and both secrets
   * verify echoes. Without secrets, the memory uses no echoes.
   */
  readonly secrets?: readonly string[];
  /** The last echo (signed session token) that the client received, if any. */
  readonly echo?: string | undefined;
  /**
   * What happens without an echo: `start` a new log (default), or continue from the `latest` state
   * that the store shows.
   */
  readonly withoutEcho?: 'start' | 'latest';
  /**
   * Waits for a time in milliseconds: between repeated reads, and before a repeated write. Default:
   * `setTimeout`.
   */
  readonly sleep?: (ms: number) => Promise<void>;
  /**
   * Maximum time for repeated reads if the store shows an older state than the echo, in
   * milliseconds. After this time, the memory rejects with `SESSION_STALE`. Default: 3000.
   */
  readonly waitMs?: number;
  /**
   * Maximum time for which the store may show overwritten values, in milliseconds. Default:
   * 120,000.
   */
  readonly staleMs?: number;
  /**
   * Cache that several memories of one store share, so that they read each batch of records only
   * once. Used only with secrets. Default: each memory reads its whole session from the store.
   */
  readonly cache?: BatchCache;
}

export const echoMemoryOptions: OptionTable<EchoMemoryOptions> = {
  secrets: optional(array),
  echo: anything,
  withoutEcho: optional(oneOf('start', 'latest')),
  waitMs: optional(nonNegative),
  staleMs: optional(nonNegative),
  cache: optional(withMethod('get')),
  ...memoryOptions,
};

/** One of two branches of a session, after two writers continued the same state. */
export interface SessionBranch {
  readonly messages: readonly Msg[];
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** Echo with which a client continues this branch. */
  readonly echo: string;
}

/**
 * A conversation in a store without `compareAndSet` whose reads may lag behind writes, such as
 * Cloudflare KV. Each turn is written once, and each request needs its own `EchoMemory`. The client
 * receives an echo, a signed session token, and sends it with its next request. The echo shows
 * whether the store's state is current.
 *
 * - After the first read, `echo` contains the state before the turn (`base`) and the id of the turn
 *   (`turnId`). After each flush, `echo` contains the new state.
 * - If the store shows an older state than the echo, the memory reads again for `waitMs`. Then it
 *   rejects with `SESSION_STALE` (`details.retryAfterMs`).
 * - If another writer came first, the store's state does not continue the echo's state. The memory
 *   then rejects with `SESSION_CONFLICT`. `branches` returns both branches, each with an echo to
 *   continue it.
 * - A client that has not seen the end of its turn sends `base` and `turnId`. It continues after
 *   the turn if the turn was stored, otherwise from `base`.
 * - If the echo was altered or belongs to another session, the memory rejects with `INVALID_INPUT`.
 *
 * If two turns run at the same time, the second one to end is stored after the first one. This
 * requires that the second turn can read the first one. A turn that starts a session (`withoutEcho:
 * 'start'`) looks for other turns only after `leave`. No record is overwritten, and only `clear`
 * deletes records.
 */
export class EchoMemory extends SessionMemory {
  readonly #branchLog: BranchLog | undefined;

  /** Throws the same errors as `SessionMemory`, and `CONFIGURATION` for invalid secrets. */
  constructor(store: KeyValueStore, sessionId: string, options: EchoMemoryOptions = {}) {
    checkOptions('EchoMemory', options, echoMemoryOptions);
    super(store, sessionId, { ...sessionOptions(options), durability: 'turn' });
    const { secrets } = options;
    if (!secrets) return;
    const branchOptions = { ...branchDefaults(), ...omitUndefined(options), secrets };
    this.#branchLog = new BranchLog(store, sessionId, branchOptions);
    this.log = this.#branchLog;
  }

  /**
   * Echo that the client must send with its next request. Absent before the first read, and without
   * secrets.
   */
  get echo(): string | undefined {
    return this.#branchLog?.echo;
  }

  /**
   * Tells the memory that the client has left. The client may send another turn before this turn is
   * written. If this turn begins the session, it then checks before its write whether the other
   * turn also began the session. If so, this turn is stored after the other turn.
   */
  leave(): void {
    this.#branchLog?.leave();
  }

  /**
   * After a `SESSION_CONFLICT`, returns the client's branch (`yours`) and the stored branch
   * (`theirs`), if they can be read. Otherwise returns only `yours`, if the session exists. Without
   * secrets, returns no branch. Rejects with the same errors as `read`.
   */
  branches(): Promise<{
    readonly yours?: SessionBranch | undefined;
    readonly theirs?: SessionBranch | undefined;
  }> {
    return this.run(async () => {
      const { yours, theirs } = (await this.#branchLog?.branches()) ?? {};
      return { yours: yours && toSession(yours), theirs: theirs && toSession(theirs) };
    });
  }
}

/** Returns the options that a `SessionMemory` has, too. */
function sessionOptions(options: EchoMemoryOptions): SessionMemoryOptions {
  return omitUndefined({
    generateId: options.generateId,
    now: options.now,
    compactAfter: options.compactAfter,
    onDamage: options.onDamage,
    onWarning: options.onWarning,
    requireCompareAndSet: options.requireCompareAndSet,
    sleep: options.sleep,
    random: options.random,
  });
}

function toSession(branch: Branch & { readonly echo: string }): SessionBranch {
  const { messages } = new SessionFold().load(flushesOf(branch));
  const { version, updatedAt } = branch.head;
  return { messages, version, updatedAt, echo: branch.echo };
}
