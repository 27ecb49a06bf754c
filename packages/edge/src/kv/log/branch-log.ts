import { AgentError, type KeyValueStore } from '@isoloop/core';
import { monotonicNow, sleepFor } from '@isoloop/core/wait';
import { containsTip, batchIdOf, coveredRefs, type Branch } from './branch.ts';
import { attemptId, BranchReader, maxTurnWrites } from './branch-reader.ts';
import { compareEcho, isOverruled, type Comparison, type Fork } from './compare-echo.ts';
import type { EchoMemoryOptions } from './echo-memory.ts';
import {
  checkNotMoved,
  deletedError,
  flushesOf,
  SessionStore,
  shortId,
  type FlushContext,
  type Log,
  type LogContent,
  type LogRecord,
  type Ownership,
} from '@isoloop/core/log';
import { EchoSigner, type Echo } from './session-echo.ts';
import { makeTurnWrite, mergeTurns } from './turn-write.ts';

type DefaultedOptions =
  | 'generateId'
  | 'now'
  | 'sleep'
  | 'compactAfter'
  | 'withoutEcho'
  | 'waitMs'
  | 'staleMs';

/** Options of an `EchoMemory` with their defaults. */
export interface BranchLogOptions
  extends
    Omit<EchoMemoryOptions, DefaultedOptions>,
    Required<Pick<EchoMemoryOptions, DefaultedOptions>> {
  readonly secrets: readonly string[];
  /** Whether the log serves a move, which also reads a session of another place. Default: false. */
  readonly isMoving?: boolean;
  /** Ownership to write, for a move. Default: the ownership in the head. */
  readonly ownership?: Ownership | undefined;
}

/** Why the session cannot be loaded, and for how long that is known without another read. */
interface Refusal {
  readonly error: AgentError;
  readonly fork: Fork;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly forMs: number;
}

/** Returns the defaults of `EchoMemoryOptions`. */
export function branchDefaults(): Pick<BranchLogOptions, DefaultedOptions> {
  return {
    generateId: shortId,
    now: Date.now,
    sleep: sleepFor,
    compactAfter: 256,
    withoutEcho: 'start',
    waitMs: 3000,
    staleMs: 120_000,
  };
}

/**
 * Delay before a second write, in milliseconds. A store may accept one write per key and second.
 */
const rewriteDelayMs = 1100;
/** Delay before the first repetition of a stale read, in milliseconds. */
const firstDelayMs = 250;
/** Maximum number of earlier turns, and of other branches, in an echo. */
const maxListedTips = 4;
/** A turn with an unseen outcome counts as ended after this many times `staleMs`. */
const endedAfterTimes = 5;

/**
 * Log of a session in a store whose reads may lag behind writes. Each turn writes its records as
 * one batch under a new key, then the head, which names the batches. Only the head is overwritten,
 * and only `clear` deletes keys. The store therefore has the batches of all branches. The client's
 * echo (signed session token) shows whether a head is new enough.
 *
 * A turn of a long session reads few keys. After every `levelWidth` batches, the next batch also
 * contains copies of their turns. After every `levelWidth` such copies, the next batch contains
 * copies of all of these turns. The head names only the newest copies. Each time the log has
 * doubled, one batch contains a compacted copy of the log.
 */
export class BranchLog implements Log {
  readonly #store: SessionStore;
  readonly #reader: BranchReader;
  readonly #options: BranchLogOptions;
  readonly #signer: EchoSigner;
  readonly #writerId: string;
  #clientEcho: string | undefined;
  /** The branch that this turn continues. */
  #branch: Branch | undefined;
  #isLoaded = false;
  /**
   * If the head was created at or after this time (milliseconds since 1970), another writer has
   * begun the session too. `Infinity` after this log has cleared the session.
   */
  #startedAt: number;
  #clientHasLeft = false;
  /** Text of the head as last seen in the store. */
  #seenHead: string | undefined;
  /** Whether the stored head belongs to another branch. Writes then do not change the head. */
  #isOnOtherBranch = false;
  #refusal: Refusal | undefined;
  readonly #newRecords: LogRecord[] = [];
  #turnId: string;
  /** Writes of this turn with unknown outcome, each with its number of records. */
  #unsureWrites: readonly { readonly ref: string; readonly count: number }[] = [];
  #unseenTurns: NonNullable<Echo['unseenTurns']> = [];
  #overruledTips: readonly string[] = [];
  #echo: string | undefined;

  /** Throws `CONFIGURATION` for invalid secrets. */
  constructor(store: KeyValueStore, sessionId: string, options: BranchLogOptions) {
    this.#store = new SessionStore(store, sessionId);
    this.#reader = new BranchReader(this.#store, options);
    this.#options = options;
    this.#signer = new EchoSigner(options.secrets, sessionId);
    this.#clientEcho = options.echo;
    this.#writerId = options.generateId();
    this.#turnId = options.generateId();
    this.#startedAt = options.now();
  }

  get version(): number {
    return this.#branch?.head.version ?? 0;
  }

  /** Echo that the client must send with its next request. Absent before the first load. */
  get echo(): string | undefined {
    return this.#echo;
  }

  /** Remembers that the client has left and may have begun another turn. */
  leave(): void {
    this.#clientHasLeft = true;
  }

  add(records: readonly LogRecord[]): void {
    this.#newRecords.push(...records);
  }

  /**
   * Returns all records. Rejects with `SESSION_STALE` or `SESSION_CONFLICT`, or with
   * `INVALID_INPUT` if the echo belongs to another session, or `SESSION_MOVED` if the session
   * belongs to another place.
   */
  async load(): Promise<LogContent> {
    if (this.#refusal && this.#isInForce(this.#refusal)) throw this.#refusal.error;
    if (!this.#isLoaded) {
      if (this.#clientEcho === undefined) await this.#begin();
      else await this.#continueFromEcho(await this.#signer.verify(this.#clientEcho));
    }
    this.#isLoaded = true;
    if (!this.#options.isMoving) checkNotMoved(this.#branch?.head);
    const stored = this.#branch ? flushesOf(this.#branch) : [];
    return { stored, pending: [...this.#newRecords] };
  }

  async flush(context: FlushContext): Promise<void> {
    if (this.#newRecords.length === 0) return;
    await this.load();
    // A turn that begins a session does not read the head, unless its client has left. After a read
    // that finds no head, a location of the store may report the head as missing for a minute.
    const isNewSession =
      this.#branch === undefined && this.#clientEcho === undefined && !this.#clientHasLeft;
    const mustReadHead = !isNewSession || this.#options.withoutEcho === 'latest';
    if (mustReadHead && (await this.#catchUp())) context.onReread(await this.load());
    if (this.#unsureWrites.length > 0) await this.#options.sleep(rewriteDelayMs);
    if (this.#newRecords.length === 0) return;
    if (this.#unsureWrites.length === maxTurnWrites)
      throw new AgentError('STORAGE_FAILED', `${maxTurnWrites} writes of the turn failed.`);
    await this.#write(context);
  }

  /** Drops all records that are not in the store. */
  drop(): void {
    this.#newRecords.length = 0;
    this.#unsureWrites = [];
  }

  /** Deletes every key of the session. */
  async clear(): Promise<void> {
    await this.load().catch((error: unknown) => {
      if (AgentError.is(error) && error.code === 'INVALID_INPUT') throw error;
    });
    const { yours, theirs } = this.#refusal?.fork ?? { yours: this.#branch };
    const refs = [yours, theirs].flatMap((branch) => (branch ? coveredRefs(branch) : []));
    const deletedKeys = await this.#store.clear(refs);
    this.#options.cache?.delete(deletedKeys);
    this.drop();
    this.#refusal = undefined;
    this.#clientEcho = undefined;
    this.#isLoaded = true;
    this.#startedAt = Infinity;
    this.#unseenTurns = [];
    this.#overruledTips = [];
    await this.#continue(undefined, undefined);
  }

  /**
   * Returns both branches after a `SESSION_CONFLICT`, otherwise only the current branch. A client
   * uses the echo of a branch to continue that branch.
   */
  async branches(): Promise<{
    readonly [Side in keyof Fork]?: (Branch & { readonly echo: string }) | undefined;
  }> {
    await this.load().catch((error: unknown) => {
      if (!AgentError.is(error) || error.code !== 'SESSION_CONFLICT') throw error;
    });
    const { yours, theirs }: Fork = this.#refusal?.fork ?? { yours: this.#branch };
    for (const branch of [yours, theirs]) {
      this.#forgetTurns(branch);
      this.#reportDamage(branch);
    }
    const withEcho = async (branch?: Branch, other?: Branch) => {
      if (!branch) return undefined;
      const otherTips = other ? [other.head.last] : [];
      const tips = [...otherTips, ...this.#overruledTips].slice(0, maxListedTips);
      const base = branch.head.last;
      const echo = await this.#sign({ issuedAt: this.#options.now(), base }, tips);
      return { ...branch, echo };
    };
    return { yours: await withEcho(yours, theirs), theirs: await withEcho(theirs, yours) };
  }

  async #begin(): Promise<void> {
    if (this.#options.withoutEcho === 'start') return this.#continue(undefined, undefined);
    return this.#continueAs(async () => {
      const { text, branch } = await this.#reader.readHead();
      return branch?.hasMissing
        ? { type: 'stale' }
        : { type: 'continue', branch, headText: text, isFromEcho: false };
    }, this.#options.now());
  }

  async #continueFromEcho(echo: Echo): Promise<void> {
    const { now, staleMs } = this.#options;
    this.#overruledTips = echo.overruledTips ?? [];
    const turn = echo.turnId === undefined ? [] : [[echo.turnId, echo.issuedAt] as const];
    this.#unseenTurns = [...turn, ...(echo.unseenTurns ?? [])]
      .filter(([, issuedAt]) => now() - issuedAt < endedAfterTimes * staleMs)
      .slice(0, maxListedTips);
    const facts = { ...echo, unseenTurns: this.#unseenTurns, overruledTips: this.#overruledTips };
    const compare = (): Promise<Comparison> =>
      compareEcho(this.#reader, { ...facts, isOld: now() - echo.issuedAt > staleMs });
    return this.#continueAs(compare, echo.issuedAt);
  }

  /**
   * Compares again, with growing delays, while a late read may be the reason for the result.
   * Returns the last result.
   */
  async #retryStale(compare: () => Promise<Comparison>): Promise<Comparison> {
    const { sleep, waitMs } = this.#options;
    const startedAt = monotonicNow();
    let sleptMs = 0;
    for (let delay = firstDelayMs; ; delay *= 2) {
      const result = await compare();
      const isFinal = result.type === 'continue' || (result.type === 'fork' && !result.mayBeStale);
      // An injected `sleep` may take no time.
      const spentMs = Math.max(sleptMs, monotonicNow() - startedAt);
      if (isFinal || spentMs + delay > waitMs) return result;
      await sleep(delay);
      sleptMs += delay;
    }
  }

  /** Continues as a comparison of the echo with the store says. `issuedAt`: time of the echo. */
  async #continueAs(compare: () => Promise<Comparison>, issuedAt: number): Promise<void> {
    const comparison = await this.#retryStale(compare);
    if (comparison.type === 'continue') {
      this.#reportDamage(comparison.branch);
      const { branch, headText, isFromEcho } = comparison;
      return this.#continue(branch, headText, isFromEcho ? issuedAt : undefined);
    }
    if (comparison.type === 'fork') {
      const message = 'The session was continued elsewhere from an earlier state';
      const error = new AgentError('SESSION_CONFLICT', message);
      this.#refusal = { error, fork: comparison.fork, at: 0, forMs: Infinity };
      throw error;
    }
    const { now, staleMs } = this.#options;
    const retryAfterMs = Math.min(Math.max(issuedAt + staleMs - now(), 1000), 10_000);
    const message = 'The store still shows an older state of the session; try again';
    const details = { retryAfterMs };
    const error = new AgentError('SESSION_STALE', message, { retryable: true, details });
    this.#refusal = { error, fork: {}, at: now(), forMs: retryAfterMs };
    throw error;
  }

  /** A refusal also ends when the date is set back. */
  #isInForce({ at, forMs }: Refusal): boolean {
    return Math.abs(this.#options.now() - at) < forMs;
  }

  #reportDamage(branch: Branch | undefined): void {
    for (const { error } of branch?.unread ?? []) this.#reader.report(error);
  }

  /** Forgets the turns with an unseen outcome that a branch contains. */
  #forgetTurns(branch: Branch | undefined): void {
    this.#unseenTurns = this.#unseenTurns.filter(([id]) => !branch?.batchIds.has(id));
  }

  /** Continues from `branch`. `issuedAt`: time of the echo to sign. Default: now. */
  async #continue(
    branch: Branch | undefined,
    headText: string | undefined,
    issuedAt: number = this.#options.now(),
  ): Promise<void> {
    this.#branch = branch;
    this.#seenHead = headText;
    this.#forgetTurns(branch);
    this.#echo = await this.#sign({ issuedAt, base: branch?.head.last, turnId: this.#turnId });
  }

  #sign(echo: Echo, overruledTips: readonly string[] = this.#overruledTips): Promise<string> {
    const unseenTurns = this.#unseenTurns;
    return this.#signer.sign({
      ...echo,
      ...(unseenTurns.length > 0 && { unseenTurns }),
      ...(overruledTips.length > 0 && { overruledTips }),
    });
  }

  /**
   * Checks whether another writer has changed the head. If that writer continued the same state, or
   * also began the session, puts this turn after its records and returns true. Otherwise this turn
   * does not write the head, and the client's next request reports the conflict. If this turn began
   * a new session, it ignores an older head in the store.
   */
  async #catchUp(): Promise<boolean> {
    if ((await this.#store.head()) === this.#seenHead && this.#unsureWrites.length === 0)
      return false;
    const base = this.#branch;
    const { text, branch: theirs } = await this.#reader.readHead(base?.batches);
    if (!base && !this.#beganMeanwhile(theirs)) return false;
    await this.#checkDeleted(text, base);
    // If this writer wrote the last head, a missing head means a late read, not a deletion.
    this.#isOnOtherBranch = theirs !== undefined || base?.head.writerId !== this.#writerId;
    if (!theirs || theirs.hasMissing) return false;
    const storedWrite = this.#unsureWrites.findLast(({ ref }) =>
      theirs.batchIds.has(batchIdOf(ref)),
    );
    if (!storedWrite && base && !containsTip(theirs, base.head.last)) {
      this.#isOnOtherBranch = !(
        containsTip(base, theirs.head.last) ||
        (await isOverruled(this.#reader, theirs, this.#overruledTips))
      );
      return false;
    }
    this.#reportDamage(theirs);
    this.#isOnOtherBranch = false;
    this.#seenHead = text;
    this.#branch = theirs;
    if (storedWrite) {
      this.#newRecords.splice(0, storedWrite.count);
      await this.#beginNextTurn(theirs);
    }
    return true;
  }

  /**
   * Throws `SESSION_DELETED` if the store has neither a head nor the batch from which this turn
   * continues. A late read may also miss both, until the batch is older than `staleMs`.
   */
  async #checkDeleted(headText: string | undefined, base: Branch | undefined): Promise<void> {
    const { now, staleMs } = this.#options;
    if (headText !== undefined || !base || now() - base.head.updatedAt <= staleMs) return;
    if ((await this.#store.readValues([base.head.last])).size) return;
    this.drop();
    throw deletedError();
  }

  /**
   * Returns whether the branch began after this turn, or contains an earlier turn of the client
   * with an unseen outcome.
   */
  #beganMeanwhile(theirs: Branch | undefined): boolean {
    return (
      theirs !== undefined &&
      (theirs.head.createdAt >= this.#startedAt ||
        this.#unseenTurns.some(([id]) => theirs.batchIds.has(id)))
    );
  }

  async #write(context: FlushContext): Promise<void> {
    const previousBranch = this.#branch;
    const { compactAfter } = this.#options;
    const newRecords = [...this.#newRecords];
    const fold = context.fold();
    const mergedTurns = mergeTurns(previousBranch, newRecords, compactAfter, fold);
    const turn = makeTurnWrite(this.#store, previousBranch, mergedTurns, {
      ...this.#options,
      id: attemptId(this.#turnId, this.#unsureWrites.length),
      writerId: this.#writerId,
      title: fold?.title,
    });
    const { ref, text, values, head } = turn;
    this.#unsureWrites = [...this.#unsureWrites, { ref, count: newRecords.length }];
    await this.#store.kv.setMany(this.#isOnOtherBranch ? values : [...values, head]);
    this.#reader.keep(ref, text);
    this.#newRecords.splice(0, newRecords.length);
    if (!this.#isOnOtherBranch) this.#seenHead = head[1];
    await this.#beginNextTurn(turn.branch);
  }

  /** Begins the next turn once this turn is in the store. */
  async #beginNextTurn(branch: Branch): Promise<void> {
    this.#branch = branch;
    this.#unsureWrites = [];
    this.#turnId = this.#options.generateId();
    this.#forgetTurns(branch);
    this.#echo = await this.#sign({ issuedAt: this.#options.now(), base: branch.head.last });
  }
}
