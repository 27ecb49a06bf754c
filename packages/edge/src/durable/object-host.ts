import { SessionMemory, type Memory } from '@isoloop/core';
import type { QueuedMessage } from '@isoloop/core/host';
import { onlyAdds } from '../queue/only-adds.ts';
import type { UIMessage } from '@isoloop/core/stream';
import { DurableStore } from './durable-store.ts';
import { logError } from '../http/error-response.ts';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { ListEntry } from './list-entry.ts';
import { forgetSession, noContent, type CommandHandler } from '../session/command-handler.ts';
import { unknownSessionError, type Command, type SessionRequest } from '../session/commands.ts';
import { IdentityRecord, type Identity } from './identity.ts';
import { checkFirstSessionTurn } from '../session/begin-session-turn.ts';
import { DurableQueue } from './durable-queue.ts';
import { TurnRunner } from '../session/turn-runner.ts';

/** Open session. The object keeps it in memory while it is awake. */
interface OpenSession {
  readonly memory: Memory;
  readonly turns: TurnRunner;
  readonly entry: ListEntry;
  /** Returns the time of the session's last change, in milliseconds since 1970. */
  readonly changedAt: () => number;
}

/**
 * Time until the alarm is retried after a failure, in milliseconds: if an expired session could not
 * be deleted, or a session not be opened. The time is long, because an operation that always fails
 * must not keep the object awake.
 */
const retryMs = 10 * 60_000;

/**
 * Session in its Durable Object. The turns are queued on disk and run one after the other, with or
 * without clients. An alarm keeps the object awake while a turn runs, resumes a turn whose isolate
 * died, and deletes an expired session.
 */
export class ObjectHost implements CommandHandler {
  readonly #storage: DurableObjectStorage;
  readonly #env: object;
  readonly #settings: HandlerSettings;
  readonly #record: IdentityRecord;
  #session: OpenSession | undefined;
  #deletion: Promise<void> | undefined;

  constructor(storage: DurableObjectStorage, env: object, settings: HandlerSettings) {
    this.#storage = storage;
    this.#env = env;
    this.#settings = settings;
    this.#record = new IdentityRecord(storage);
  }

  async turn(request: SessionRequest, command: Command<'turn'>): Promise<Response> {
    const turnRequest = command.turn.request;
    await this.#deletion?.catch(() => {});
    const identity = this.#identify(request);
    // A first turn that has nothing to continue from creates no session.
    if (await this.#isNew(identity)) checkFirstSessionTurn(turnRequest, this.#settings);
    const { turns, entry, memory } = await this.#open(identity);
    const addsOnly = await onlyAdds(turnRequest, memory);
    // The session may have been deleted while it was opened.
    if (this.#deletion || this.#session?.turns !== turns) return this.turn(request, command);
    let isFirst = false;
    return turns.answer(command, {
      addsOnly,
      onAdd: async (isWaiting) => {
        isFirst = this.#record.begin(identity);
        // The turn before a waiting turn has set the alarm.
        if (!isWaiting)
          await this.#storage.setAlarm(Date.now() + this.#settings.sessions.heartbeatMs);
        if (isFirst) entry.update();
      },
      // Without a turn and an alarm, the session would stay and never expire.
      onEmptied: () => {
        if (isFirst) this.#record.remove();
      },
    });
  }

  async stream(command: Command<'stream'>): Promise<Response> {
    return (await this.#wake())?.turns.stream(command) ?? noContent();
  }

  async interrupt(command: Command<'interrupt'>): Promise<boolean> {
    return (await this.#wake())?.turns.interrupt(command) ?? false;
  }

  async messages(request: SessionRequest): Promise<readonly UIMessage[]> {
    await this.#deletion?.catch(() => {});
    await this.#wake();
    const identity = this.#identify(request);
    if (await this.#isNew(identity)) return [];
    return (await this.#open(identity)).turns.messages();
  }

  queuedMessages(): readonly QueuedMessage[] {
    return this.#session?.turns.queuedMessages() ?? [];
  }

  async withdraw(command: Command<'withdraw'>): Promise<boolean> {
    const session = await this.#wake();
    return session?.turns.withdraw(command) ?? false;
  }

  async rename({ title }: Command<'rename'>): Promise<void> {
    await this.#deletion?.catch(() => {});
    await this.#wake();
    const { identity } = this.#record;
    if (!identity) throw unknownSessionError();
    const { entry } = await this.#open(identity);
    // The session may have been deleted while it was opened.
    if (!this.#record.identity) throw unknownSessionError();
    this.#record.rename(title);
    entry.update();
    // Waits for the list, and sets an alarm that tries again if the list could not be reached.
    await this.#schedule();
  }

  delete(): Promise<void> {
    return (this.#deletion ??= this.#delete().finally(() => {
      this.#deletion = undefined;
      // Drops the session even if its deletion failed, because it is already closed.
      this.#session = undefined;
    }));
  }

  async alarm(): Promise<void> {
    try {
      const session = await this.#wake();
      if (session && !session.turns.isBusy) {
        if (Date.now() >= this.#expiresAt(session.changedAt())) return await this.delete();
        session.entry.send();
      }
    } catch (error) {
      logError(error, 'alarm');
    }
    await this.#schedule();
  }

  async #open(identity: Identity): Promise<OpenSession> {
    if (this.#session) return this.#session;
    const setup = this.#setup(identity);
    const memory =
      (await this.#settings.memory?.({ ...setup, withoutEcho: 'latest' })) ??
      new SessionMemory(new DurableStore(this.#storage), identity.sessionId);
    return (this.#session ??= this.#createSession(identity, memory));
  }

  #createSession(identity: Identity, memory: Memory): OpenSession {
    const queue = new DurableQueue(this.#storage);
    const changedAt = (): number => Math.max(identity.createdAt, queue.changedAt);
    const entry = new ListEntry({
      env: this.#env,
      identity,
      record: this.#record,
      memory,
      changedAt,
    });
    const turns = new TurnRunner({
      settings: () => this.#settings,
      setup: this.#setup(identity),
      queue,
      // A memory of the host may not have the messages as soon as the queue.
      keepsInput: !this.#settings.memory,
      memory,
      onChange: () => entry.update(),
      onEmpty: () => {
        entry.send();
        void this.#schedule().catch((error: unknown) => logError(error, 'alarm'));
      },
    });
    return { memory, turns, entry, changedAt };
  }

  #identify({ user, sessionId }: SessionRequest): Identity {
    return this.#record.identity ?? { user, sessionId, createdAt: Date.now() };
  }

  /**
   * Returns whether the session has no conversation. The host's own memory may have one that began
   * elsewhere.
   */
  async #isNew(identity: Identity): Promise<boolean> {
    if (this.#record.identity || !this.#settings.memory) return !this.#record.identity;
    const { memory } = await this.#open(identity);
    return !(await memory.read()).length;
  }

  /** Opens a stored session, and resumes the turns that an isolate left unfinished when it died. */
  async #wake(): Promise<OpenSession | undefined> {
    const { identity } = this.#record;
    if (!identity || this.#deletion) return undefined;
    const session = await this.#open(identity);
    session.turns.wake();
    return session;
  }

  async #delete(): Promise<void> {
    const { identity } = this.#record;
    if (!identity) return;
    const { turns, memory, entry } = await this.#open(identity);
    entry.close();
    await turns.close();
    const { moves } = this.#settings;
    const keep = await moves?.keepOnDelete?.(this.#storage, identity.sessionId);
    await forgetSession(this.#settings, this.#setup(identity), memory);
    await entry.remove();
    await this.#storage.deleteAlarm();
    this.#record.forget();
    await this.#storage.deleteAll();
    keep?.();
  }

  /**
   * Sets the next alarm: after `heartbeatMs` while the session has work, otherwise when the session
   * expires.
   */
  async #schedule(): Promise<void> {
    await this.#session?.entry.whenSent;
    this.#session?.turns.unloadWhenIdle();
    if (!this.#record.identity || this.#deletion) return;
    const at = this.#nextAlarm();
    await (Number.isFinite(at) ? this.#storage.setAlarm(at) : this.#storage.deleteAlarm());
  }

  #nextAlarm(): number {
    const now = Date.now();
    if (!this.#session) return now + retryMs;
    const { turns, entry, changedAt } = this.#session;
    if (turns.isBusy || !entry.isSent) return now + this.#settings.sessions.heartbeatMs;
    const expiresAt = this.#expiresAt(changedAt());
    // If the expiry time has passed, the last deletion failed.
    return expiresAt > now ? expiresAt : now + retryMs;
  }

  /** Returns the time at which the session expires, in milliseconds since 1970. */
  #expiresAt(changedAt: number): number {
    return changedAt + this.#settings.sessions.expireAfterMs;
  }

  #setup({ user, sessionId }: Identity): SessionSetup {
    return { env: this.#env, user, sessionId };
  }
}
