import { AgentError, assistantMessage, userMessage, type Msg } from '@isoloop/core';
import { BatchCache } from '../src/kv/log/batch-cache.ts';
import { randomOf } from '../../../test/random-of.ts';
import { KvMemory } from '../src/kv/kv-memory.ts';
import { KvSimulator } from './kv-simulator.ts';
import { VirtualClock } from './virtual-clock.ts';

/** Number of times that each kind of event has happened, over several schedules. */
export type Tally = Record<(typeof happenings)[number], number>;

const happenings = [
  'turns',
  'failed',
  'left',
  'found',
  'joined',
  'stale',
  'conflicts',
  'replayed',
  'forged',
  'rotated',
  'snapshots',
] as const;

export function newTally(): Tally {
  return Object.fromEntries(happenings.map((name) => [name, 0])) as Tally;
}

/**
 * The client's view of the session. The echo is the token with which the next request continues.
 */
interface Known {
  readonly echo: string | undefined;
  /** Ids of the messages that the client knows to be stored. */
  readonly ids: ReadonlySet<string>;
}

/** A turn (a question and its answer) whose client disconnected. */
interface LeftTurn {
  readonly id: string;
  /** Time at which the client disconnected. */
  readonly at: number;
  /** Time at which the whole turn was stored. */
  storedAt?: number;
}

const secretA = 'a'.repeat(32);
const secretB = 'b'.repeat(32);
const sessionId = 'ann/chat';
const otherSession = 'bob/chat';
const minute = 60_000;

/**
 * Runs two clients on one session in a random order that `seed` decides. Each request goes to one
 * of two locations. Rejects if a guarantee of `KvMemory` with echoes is broken.
 */
export async function runSchedule(seed: number, tally: Tally): Promise<void> {
  const random = randomOf(seed);
  const chance = (probability: number): boolean => random() < probability;
  const clock = new VirtualClock();
  const kv = new KvSimulator({
    clock,
    random,
    rate: chance(0.5) ? 'error' : 'silent',
    uncached: chance(0.5) ? 'new' : 'late',
    failures: [0, 0.1, 0.4][Math.floor(random() * 3)]!,
  });
  let secrets: readonly string[] = [secretA];
  let ids = 0;
  /** Key of each turn whose write KV has confirmed, and the value that this key must keep. */
  const acknowledged = new Map<string, string | null>();
  const compactAfter = 2 + Math.floor(random() * 8);

  /** The caches of an isolate at each location. The cache `there` is almost too small. */
  const caches = { here: new BatchCache(1_000_000), there: new BatchCache(1000) };
  const usesCache = seed % 2 === 0;

  const open = (echo: string | undefined, session = sessionId): KvMemory => {
    const location = chance(0.7) ? 'here' : 'there';
    return new KvMemory(kv.at(location), session, {
      secrets,
      ...(usesCache && { cache: caches[location] }),
      ...(echo !== undefined && { echo }),
      generateId: () => `id${++ids}`,
      now: clock.now,
      sleep: clock.sleep,
      compactAfter,
    });
  };

  const fail = (what: string): never => {
    throw new Error(`Schedule ${seed} at ${(clock.time - start) / 1000} s: ${what}`);
  };
  const start = clock.time;

  const mustHold = (held: readonly Msg[], expected: Iterable<string>, what: string): void => {
    const there = held.map(({ id }) => id);
    if (new Set(there).size < there.length)
      fail(`${what}: a message appears twice: ${there.join()}`);
    const missing = [...expected].filter((id) => !there.includes(id));
    if (missing.length > 0)
      fail(`${what}: messages ${missing.join()} are missing; found ${there.join()}`);
  };

  const store = async (memory: KvMemory): Promise<boolean> => {
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        await memory.flush();
        const { base } = payloadOf(memory.echo!);
        const key = `s:${encodeURIComponent(sessionId)}:t:${base!.replace(/^\d{8}\.|[=~].*$/g, '')}`;
        const value = kv.value(key) ?? fail(`the acknowledged turn is not stored under ${key}`);
        if (value.includes('"replaces"')) tally.snapshots++;
        acknowledged.set(key, value);
        return true;
      } catch (error) {
        if (!AgentError.is(error) || error.code !== 'STORAGE_FAILED') throw error;
        tally.failed++;
        await clock.sleep(random() * 500);
      }
    }
    return false;
  };

  class Client {
    readonly #name: string;
    #known: Known;
    readonly #earlier: Known[] = [];
    #owed: LeftTurn[] = [];

    constructor(name: string, known: Known, owed: readonly LeftTurn[]) {
      this.#name = name;
      this.#known = known;
      this.#owed = [...owed];
    }

    async live(): Promise<void> {
      const turns = 3 + Math.floor(random() * 5);
      for (let turn = 0; turn < turns; turn++) {
        await clock.sleep(chance(0.5) ? random() * 2000 : random() * 90_000);
        if (chance(0.05) && secrets.length === 1) {
          secrets = [secretB, secretA];
          tally.rotated++;
        }
        if (chance(0.2)) await this.#forge();
        if (chance(0.1) && this.#earlier.length > 0) this.#replay();
        await this.#turn();
      }
    }

    /**
     * Checks that the session has all messages that the client knows. All writes have propagated by
     * then.
     */
    async settle(): Promise<void> {
      for (let load = 0; load < 2; load++) {
        const memory = await this.#load();
        mustHold(await memory.read(), this.#known.ids, `${this.#name}, at the end`);
        await clock.sleep(61_000);
      }
    }

    async #turn(): Promise<void> {
      const memory = await this.#load();
      const before = await memory.read();
      const id = `${this.#name}${++ids}`;
      await memory.append([userMessage('question', { id: `${id}-q` })]);
      const midTurn = memory.echo ?? fail('the memory has no echo at the start of a turn');
      const thinking = random() * (chance(0.3) ? 20_000 : 1000);
      const answer = async (): Promise<boolean> => {
        await clock.sleep(thinking);
        await memory.append([assistantMessage('answer', { id: `${id}-a` })]);
        return store(memory);
      };
      tally.turns++;
      const stays = chance(0.7);
      if (stays && (await answer())) {
        const stored = await memory.read();
        mustHold(
          stored,
          [...this.#known.ids, `${id}-q`, `${id}-a`],
          `${this.#name}, after its turn`,
        );
        if (stored.length > before.length + 2) tally.joined++;
        this.#know({ echo: memory.echo, ids: new Set(stored.map((message) => message.id)) });
        return;
      }
      tally.left++;
      const left: LeftTurn = { id, at: clock.time };
      this.#owed.push(left);
      this.#know({ echo: midTurn, ids: this.#known.ids });
      if (stays) return;
      memory.leave();
      clock.start(async () => {
        if (await answer()) left.storedAt = clock.time;
      });
    }

    /**
     * Loads the session. Checks that it has the messages that the client knows, or that the memory
     * reports an error.
     */
    async #load(): Promise<KvMemory> {
      const begun = clock.time;
      for (let conflicts = 0; ;) {
        const memory = open(this.#known.echo);
        try {
          const messages = await memory.read();
          mustHold(messages, this.#known.ids, `${this.#name}, at its next request`);
          this.#checkOwed(messages, begun);
          return memory;
        } catch (error) {
          if (!AgentError.is(error)) throw error;
          if (error.code === 'SESSION_CONFLICT') {
            if (++conflicts > 5)
              fail(`${this.#name} gets a conflict again after it chose a branch`);
            await this.#choose(memory);
          } else if (error.code === 'SESSION_STALE') {
            tally.stale++;
            const { retryAfterMs } = error.details as { readonly retryAfterMs: number };
            if (clock.time - begun > 4 * minute)
              fail(`${this.#name} gets SESSION_STALE for four minutes`);
            await clock.sleep(retryAfterMs);
          } else throw error;
        }
      }
    }

    async #choose(memory: KvMemory): Promise<void> {
      tally.conflicts++;
      const { yours, theirs } = await memory.branches();
      if (!yours || !theirs)
        return fail(`${this.#name} can read only one branch: ${yours ? 'its own' : 'the other'}`);
      mustHold(yours.messages, this.#known.ids, `${this.#name}'s branch after a conflict`);
      const told = new Set([...yours.messages, ...theirs.messages].map(({ id }) => id));
      this.#owed = this.#owed.filter(({ id }) => !told.has(`${id}-q`));
      const chosen = chance(0.5) ? yours : theirs;
      this.#know({ echo: chosen.echo, ids: new Set(chosen.messages.map(({ id }) => id)) });
    }

    #checkOwed(messages: readonly Msg[], begun: number): void {
      const there = new Set(messages.map(({ id }) => id));
      this.#owed = this.#owed.filter(({ at }) => clock.time - at < 8 * minute).slice(-3);
      for (const { id, storedAt } of this.#owed) {
        if (there.has(`${id}-q`)) tally.found++;
        else if (storedAt !== undefined && storedAt < begun - minute)
          fail(`${this.#name} disconnected from turn ${id}, and the stored turn never appears`);
      }
      this.#owed = this.#owed.filter(({ id }) => !there.has(`${id}-q`));
    }

    #know(known: Known): void {
      this.#earlier.push(this.#known);
      this.#known = known;
    }

    #replay(): void {
      tally.replayed++;
      this.#known = this.#earlier[Math.floor(random() * this.#earlier.length)]!;
      this.#owed = [];
    }

    async #forge(): Promise<void> {
      const { echo } = this.#known;
      const elsewhere = open(undefined, otherSession);
      await elsewhere.read();
      const forged = [elsewhere.echo!, '', 'x.y'];
      if (echo !== undefined) {
        const place = chance(0.3) ? echo.length - 1 : Math.floor(random() * echo.length);
        const letter =
          'ABCDEFGHIJKLMNOPQRSTUVWXYZ234_-.'.replace(echo[place]!, '')[Math.floor(random() * 31)] ??
          '5';
        forged.push(
          echo.slice(0, place) + letter + echo.slice(place + 1),
          echo.slice(0, -1),
          `${echo}A`,
          echo.split('.')[0]!,
        );
      }
      const count = kv.versions.size;
      for (const each of forged) {
        tally.forged++;
        const memory = open(each);
        for (const operation of [
          () => memory.read(),
          () => memory.append([userMessage('forged')]),
          () => memory.flush(),
          () => memory.clear(),
        ]) {
          const code = await operation().then(
            () => 'nothing',
            (error: unknown) => (AgentError.is(error) ? error.code : String(error)),
          );
          if (code !== 'INVALID_INPUT')
            fail(`a forged echo, ${each}, resulted in ${code} instead of INVALID_INPUT`);
        }
        if (memory.echo !== undefined) fail(`a forged echo, ${each}, resulted in a new echo`);
      }
      if (kv.versions.size < count) fail('a forged echo deleted a key');
    }
  }

  let clients: readonly Client[] = [];
  clock.start(async () => {
    let first: KvMemory;
    const owed: LeftTurn[] = [];
    // In every third schedule the clients disconnect from the first turn. That turn is stored while
    // they continue.
    const isLeft = seed % 3 === 0;
    do {
      first = open(undefined);
      await first.append([userMessage('hello', { id: 'first-q' })]);
      if (isLeft) break;
    } while (!(await store(first)));
    const known: Known = { echo: first.echo, ids: new Set(isLeft ? [] : ['first-q']) };
    if (isLeft) {
      const left: LeftTurn = { id: 'first', at: clock.time };
      owed.push(left);
      first.leave();
      clock.start(async () => {
        await clock.sleep((seed % 25) * 1000);
        if (await store(first)) left.storedAt = clock.time;
      });
    }
    clients = [new Client('ann', known, owed), new Client('bea', known, owed)];
    for (const client of clients) clock.start(() => client.live());
  });
  await clock.run();
  await clock.run();
  clock.time += 5 * minute;
  for (const client of clients) clock.start(() => client.settle());
  await clock.run();
  for (const [key, value] of acknowledged)
    if (kv.value(key) !== value) fail(`the acknowledged turn under ${key} was overwritten`);
}

function payloadOf(echo: string): { readonly base?: string } {
  return JSON.parse(atob(echo.split('.')[0]!.replaceAll('-', '+').replaceAll('_', '/'))) as {
    readonly base?: string;
  };
}
