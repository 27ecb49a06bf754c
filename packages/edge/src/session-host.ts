import { AgentError, SessionMemory } from '@isoloop/core';
import type { AgentInput, Memory } from '@isoloop/core';
import { toUiMessages } from '@isoloop/core/ai-sdk';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import { checkFirstTurn, entitle, takeTurn, titleOf, waitingCalls } from './chat-turn.ts';
import type { Turn } from './chat-turn.ts';
import { deferred, type Deferred } from './deferred.ts';
import { DurableStore } from './durable-store.ts';
import { logError } from './error-response.ts';
import type { HandlerSettings, SessionSetup } from './handler-options.ts';
import { answerSoFar, liveResponse, type LiveTurn } from './live-turn.ts';
import { makeAgent } from './session-agent.ts';
import { askSession, sessionObject, type SessionCommand, type SessionRequest } from './session-command.ts';
import { TurnQueue, type QueuedTurn } from './turn-queue.ts';

/** What an object knows of its session; an alarm brings none of it. */
interface Identity {
  readonly user: string;
  readonly session: string;
  readonly createdAt: number;
}

/** The last change: when, and how many there were; several may fall into a millisecond. */
interface Touched {
  readonly at: number;
  readonly count: number;
}

interface Parts {
  readonly queue: TurnQueue;
  readonly memory: Memory;
}

type Command<K extends SessionCommand['type']> = Extract<SessionCommand, { type: K }>;

/**
 * One session in its Durable Object. Turns are queued on disk and run one after the other, each by an agent of its own; clients only
 * watch. One alarm keeps the object awake while a turn runs, goes on with one whose isolate died, and lets idle sessions expire.
 */
export class SessionHost {
  readonly #storage: DurableObjectStorage;
  readonly #env: object;
  readonly #settings: HandlerSettings;
  #parts: Parts | undefined;
  /** Of the turns that somebody waits for. */
  readonly #opened: Map<number, Deferred<LiveTurn>> = new Map();
  #live: LiveTurn | undefined;
  #abort: AbortController | undefined;
  #working: Promise<void> | undefined;
  #deleting: Promise<void> | undefined;
  #listing: Promise<void> = Promise.resolve();
  readonly #settling: Set<Promise<void>> = new Set();

  constructor(storage: DurableObjectStorage, env: object, settings: HandlerSettings) {
    this.#storage = storage;
    this.#env = env;
    this.#settings = settings;
  }

  async chat(request: SessionRequest, command: Command<'chat'>): Promise<Response> {
    const { user, session } = request;
    const { turn, events } = command;
    const identity = await this.#identify(user, session, turn.turn);
    const { queue } = await this.#open(identity);
    // Opening takes its time, and a session may be deleted meanwhile.
    if (this.#deleting) return this.chat(request, command);
    if (!this.#identity) this.#storage.kv.put('identity', identity);
    const waits = queue.size > 0;
    const { id } = queue.add(turn);
    this.#touch();
    const opened = this.#whenOpened(id);
    await this.#storage.setAlarm(Date.now() + this.#settings.sessions.heartbeatMs);
    this.#work(identity);
    return liveResponse(waits ? opened : await opened, { events, settings: this.#settings });
  }

  async stream({ lastEventId, events }: Command<'stream'>): Promise<Response> {
    const live = await (await this.#wake())?.opened.catch(() => undefined);
    if (!live) return new Response(null, { status: 204, headers: { 'cache-control': 'no-store' } });
    return liveResponse(live, { events, settings: this.#settings, replay: { lastEventId } });
  }

  /** Whether a turn was running. */
  async interrupt({ mode, message }: Command<'interrupt'>): Promise<boolean> {
    const running = await this.#wake();
    if (!running) return false;
    if (mode === 'stop') return (await running.opened.catch(() => undefined))?.agent.interrupt(message) ?? false;
    if (!this.#abort) await running.opened.catch(() => {});
    this.#abort?.abort();
    return this.#abort !== undefined;
  }

  async messages(): Promise<readonly UiMessage[]> {
    await this.#deleting?.catch(() => {});
    await this.#wake();
    const identity = this.#identity;
    if (!identity) return [];
    const { memory } = await this.#open(identity);
    const shown = toUiMessages(await memory.read(), { pending: await waitingCalls(memory) });
    const last = shown.at(-1);
    // So that a page which goes on with the stream finds the message that it tells of.
    if (this.#live && last?.role === 'assistant') last.id = this.#live.turn.messageId;
    return shown;
  }

  delete(): Promise<void> {
    return (this.#deleting ??= this.#delete().finally(() => (this.#deleting = undefined)));
  }

  async alarm(): Promise<void> {
    try {
      const running = await this.#wake();
      if (!running && this.#identity && Date.now() >= this.#expiresAt) return await this.delete();
      if (!running) this.#list();
    } catch (error) {
      logError(error, 'alarm');
    }
    await this.#schedule();
  }

  async #open(identity: Identity): Promise<Parts> {
    if (this.#parts) return this.#parts;
    const memory =
      (await this.#settings.memory?.({ ...this.#setup(identity), withoutEcho: 'latest' })) ??
      new SessionMemory(new DurableStore(this.#storage), identity.session);
    return (this.#parts ??= { queue: new TurnQueue(this.#storage), memory });
  }

  /** Whose session it is; throws where a turn would go on from nothing, which then leaves nothing behind. */
  async #identify(user: string, session: string, turn: Turn): Promise<Identity> {
    await this.#deleting?.catch(() => {});
    if (!this.#identity) checkFirstTurn(turn);
    return this.#identity ?? { user, session, createdAt: Date.now() };
  }

  /** Goes on with what an isolate has left behind; gives the turn that runs now. */
  async #wake(): Promise<{ readonly opened: Promise<LiveTurn> } | undefined> {
    const identity = this.#identity;
    if (!identity || this.#deleting) return undefined;
    const { queue } = await this.#open(identity);
    const next = queue.first();
    if (!next) return undefined;
    this.#work(identity);
    // At once: after an await the turn may have ended.
    return { opened: this.#whenOpened(next.id) };
  }

  #work(identity: Identity): void {
    this.#working ??= this.#workOff(identity).then(
      () => this.#rest(identity),
      (error: unknown) => {
        // The storage failed: the next alarm or request tries again.
        this.#working = undefined;
        this.#live = undefined;
        for (const { reject } of this.#opened.values()) reject(error);
        this.#opened.clear();
        logError(error, 'turns');
      },
    );
  }

  #rest(identity: Identity): void {
    this.#working = undefined;
    if (this.#deleting) return;
    // One may have come as the last one ended.
    if (this.#parts?.queue.size) return this.#work(identity);
    this.#list();
    this.#schedule().catch((error: unknown) => logError(error, 'alarm'));
  }

  async #workOff(identity: Identity): Promise<void> {
    const { queue } = await this.#open(identity);
    for (let next; !this.#deleting && (next = queue.first());) {
      try {
        await this.#run(identity, next);
      } catch (error) {
        logError(error, next.requestId);
        this.#opened.get(next.id)?.reject(error);
      }
      this.#live = undefined;
      this.#abort = undefined;
      this.#opened.get(next.id)?.reject(new AgentError('ABORTED', 'The turn has ended.'));
      this.#opened.delete(next.id);
      queue.remove(next.id);
      this.#touch();
    }
  }

  async #run(identity: Identity, turn: QueuedTurn): Promise<void> {
    const { queue, memory } = await this.#open(identity);
    const abort = new AbortController();
    this.#abort = abort;
    const { agent, settled } = await makeAgent(this.#settings, { ...this.#setup(identity), memory, model: turn.model });
    const start = turn.begun ? await this.#goOn(turn, agent.memory) : { input: await takeTurn(agent, turn.turn) };
    if (!start) return;
    entitle(agent, () => {
      this.#touch();
      this.#list();
    });
    queue.begin(turn.id);
    queue.attempt(turn.id);
    if (turn.attempts > this.#settings.sessions.resumeAttempts) abort.abort();
    const goesOn = turn.begun || turn.turn.kind === 'decisions';
    const before = goesOn ? answerSoFar(await agent.memory.read()) : [];
    const stream = agent.stream(start.input, { detached: true, signal: abort.signal });
    this.#live = { turn, agent, stream, before };
    this.#opened.get(turn.id)?.resolve(this.#live);
    this.#list();
    try {
      await stream.result;
    } finally {
      if (settled) this.#settle(settled());
    }
  }

  /** What to call the agent with for a turn whose isolate died; nothing where the turn had ended. */
  async #goOn({ turn }: QueuedTurn, memory: Memory): Promise<{ readonly input: AgentInput | undefined } | undefined> {
    const messages = await memory.read();
    const { openRun, ended } = memory instanceof SessionMemory ? await memory.view() : { openRun: undefined, ended: undefined };
    if (openRun !== undefined && ended === undefined) return { input: undefined };
    if (turn.kind === 'decisions') return (await waitingCalls(memory)).length ? { input: turn.decisions } : undefined;
    const { message } = turn;
    if (message && !messages.some(({ id }) => id === message.id)) return { input: message };
    const isAnswered = messages.at(-1)?.role !== 'user' || (turn.kind === 'message' && ended !== undefined);
    return isAnswered ? undefined : { input: undefined };
  }

  async #delete(): Promise<void> {
    const identity = this.#identity;
    if (!identity) return;
    const { user, session } = identity;
    const { queue, memory } = await this.#open(identity);
    this.#abort?.abort();
    await this.#working;
    for (let next; (next = queue.first()); queue.remove(next.id)) {
      this.#opened.get(next.id)?.reject(new AgentError('ABORTED', 'The session was deleted.'));
      this.#opened.delete(next.id);
    }
    await Promise.all(this.#settling);
    const made = await makeAgent(this.#settings, { ...this.#setup(identity), memory, model: this.#settings.models[0]! });
    await made.settled?.();
    await made.forget?.(session);
    await made.agent.memory.clear();
    await this.#listing;
    await this.#tell(user, { type: 'take-from-list', id: session });
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
    this.#parts = undefined;
  }

  #settle(settled: Promise<void>): void {
    const settling = settled.catch((error: unknown) => logError(error, 'settled')).finally(() => this.#settling.delete(settling));
    this.#settling.add(settling);
  }

  /** Tells the user's list of the session, one after the other; an alarm tries again what fails. */
  #list(): void {
    this.#listing = this.#listing.then(async () => {
      const identity = this.#identity;
      const { at: updatedAt, count } = this.#touched;
      if (!identity || this.#deleting || this.#isListed) return;
      try {
        const { memory } = await this.#open(identity);
        const given = memory instanceof SessionMemory ? (await memory.view()).state['title'] : undefined;
        const title = typeof given === 'string' ? given : titleOf(await memory.read());
        const { user, session: id, createdAt } = identity;
        const chat = { id, createdAt, updatedAt, ...(title && { title }) };
        await this.#tell(user, { type: 'put-in-list', chat });
        if (this.#identity) this.#storage.kv.put('listed', count);
      } catch (error) {
        logError(error, 'list');
      }
    });
  }

  async #tell(user: string, command: SessionCommand): Promise<void> {
    const list = sessionObject(this.#env, user, '');
    if (!list) return;
    const { ok, status } = await askSession(list, { user, session: '', requestId: 'list', command });
    if (!ok) throw new AgentError('STORAGE_FAILED', `The list of sessions could not be written (${status})`, { retryable: true });
  }

  async #schedule(): Promise<void> {
    if (!this.#identity) return;
    const { heartbeatMs } = this.#settings.sessions;
    await this.#listing;
    if (!this.#identity || this.#deleting) return;
    const isBusy = this.#working || this.#settling.size || !this.#isListed;
    // Not before that: an expiry that failed is due already.
    const next = Date.now() + heartbeatMs;
    const at = isBusy ? next : Math.max(next, this.#expiresAt);
    await (Number.isFinite(at) ? this.#storage.setAlarm(at) : this.#storage.deleteAlarm());
  }

  #whenOpened(id: number): Promise<LiveTurn> {
    if (this.#live?.turn.id === id) return Promise.resolve(this.#live);
    const known = this.#opened.get(id) ?? deferred<LiveTurn>();
    this.#opened.set(id, known);
    return known.promise;
  }

  #setup({ user, session }: Identity): SessionSetup {
    return { env: this.#env, user, session };
  }

  #touch(): void {
    this.#storage.kv.put<Touched>('touched', { at: Date.now(), count: this.#touched.count + 1 });
  }

  get #identity(): Identity | undefined {
    return this.#storage.kv.get<Identity>('identity');
  }

  get #touched(): Touched {
    return this.#storage.kv.get<Touched>('touched') ?? { at: 0, count: 0 };
  }

  /** Whether the user's list has the last change. */
  get #isListed(): boolean {
    return this.#storage.kv.get<number>('listed') === this.#touched.count;
  }

  get #expiresAt(): number {
    return this.#touched.at + this.#settings.sessions.expireAfterMs;
  }
}
