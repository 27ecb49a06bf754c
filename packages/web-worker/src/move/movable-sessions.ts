import { AgentError } from '@isoloop/core';
import { checkFields, either, func, checkId, withMethod } from '@isoloop/core/options';
import {
  moveSession,
  type MoveOptions,
  type SessionCopy,
  type SessionPlace,
} from '@isoloop/core/move';
import { retryableOnce } from '@isoloop/core/wait';

/** Places by names of your own. A function is called at the first use of its place. */
export type Places<N extends string> = Readonly<
  Record<N, SessionPlace | (() => Promise<SessionPlace>)>
>;

/** What a move does with a run of the session, and when it gives up. */
export interface MoveToOptions extends Pick<MoveOptions, 'whenRunning' | 'signal' | 'sleep'> {
  /** Stops the run of the session, for `whenRunning: 'stop'`. Default: as the old place does it. */
  readonly stop?: () => Promise<void>;
}

/** Conversations that move between places. `N`: names of the places. */
export interface MovableSessions<N extends string> {
  /**
   * Moves a conversation to a place, where it continues with the same id. Also completes a move
   * that was cut off. Does nothing if the conversation is there. Rejects with the errors of
   * `moveSession`. After an error, one of the places has the conversation: call `moveTo` again.
   */
  moveTo(sessionId: string, name: N, options?: MoveToOptions): Promise<void>;
  /**
   * Returns the place of a conversation, or `undefined` if no place has it. Also completes a move
   * that was cut off. Works while another place cannot be reached, if its own place can. Else
   * rejects with the error of the other place.
   */
  whereIs(sessionId: string): Promise<N | undefined>;
  /**
   * Calls `listener` when a tab of this browser has moved the conversation. Returns a function that
   * ends this.
   */
  watch(sessionId: string, listener: (name: N) => void): () => void;
}

interface MoveMessage {
  readonly sessionId: string;
  /** Name of the new place, as `SessionPlace` has it. */
  readonly movedTo: string;
}

const channelName = 'isoloop:moves';

const placeOrFunction = either(func, withMethod('setOwner'));

/**
 * Returns conversations that move between places, such as this browser and an endpoint. Reads a
 * conversation in all places to find its owner.
 *
 * @example
 * const sessions = movableSessions({
 *   tab: browserPlace,
 *   edge: endpointPlace('https://example.com/api/chat'),
 * });
 * await sessions.moveTo('notes', 'edge');
 */
export function movableSessions<N extends string>(placesByName: Places<N>): MovableSessions<N> {
  for (const [name, place] of Object.entries(placesByName))
    checkFields(`movableSessions(): ${name}`, { place }, { place: placeOrFunction });
  const names = Object.keys(placesByName) as N[];
  const openPlace = async (name: N): Promise<SessionPlace> => {
    const place: SessionPlace | (() => Promise<SessionPlace>) = placesByName[name];
    return typeof place === 'function' ? place() : place;
  };
  const loadPlaces = retryableOnce(() => Promise.all(names.map(openPlace)));
  const nameOf = (places: readonly SessionPlace[], place: string): N | undefined =>
    names[places.findIndex(({ name }) => name === place)];

  /** Returns the owner of a session. Completes its last move first, if this broke off. */
  const ownerOf = async (
    sessionId: string,
    options: Omit<MoveToOptions, 'stop'> = {},
  ): Promise<SessionPlace | undefined> => {
    checkId(sessionId, 'session id');
    const ownership = await readOwner(sessionId, await loadPlaces());
    if (!ownership) return undefined;
    const { source, owner } = ownership;
    if (source !== owner) await moveSession(sessionId, { ...options, from: source, to: owner });
    return owner;
  };

  return {
    async moveTo(sessionId, name, { stop, ...options } = {}) {
      const places = await loadPlaces();
      const to = places[names.indexOf(name)];
      if (!to) throw new AgentError('INVALID_INPUT', `There is no place "${name}".`);
      const from = await ownerOf(sessionId, options);
      if (!from) throw new AgentError('NOT_FOUND', `There is no session "${sessionId}" to move.`);
      if (from !== to) {
        const place = stop ? { ...from, stop } : from;
        await moveSession(sessionId, { ...options, from: place, to });
      }
      postMove({ sessionId, movedTo: to.name });
    },
    async whereIs(sessionId) {
      const owner = await ownerOf(sessionId);
      return owner && nameOf(await loadPlaces(), owner.name);
    },
    watch(sessionId, listener) {
      const channel = new BroadcastChannel(channelName);
      channel.addEventListener('message', ({ data }: MessageEvent<MoveMessage>) => {
        if (data.sessionId !== sessionId) return;
        const tell = (places: readonly SessionPlace[]): void => {
          const name = nameOf(places, data.movedTo);
          if (name !== undefined) listener(name);
        };
        // If a place cannot be opened, the next use of the conversation finds its owner.
        loadPlaces().then(tell, () => {});
      });
      return () => channel.close();
    },
  };
}

interface OwnerRead {
  /** Place that owns the session. */
  readonly owner: SessionPlace;
  /** Place that says so. Another one, if a move broke off before the owner took the session. */
  readonly source: SessionPlace;
}

/**
 * Returns the owner of a session: the place with the highest epoch, or the one that it names. A
 * place that says that it owns the session is enough, so that it can be used while another one is
 * down.
 */
async function readOwner(
  sessionId: string,
  places: readonly SessionPlace[],
): Promise<OwnerRead | undefined> {
  const reads = await Promise.allSettled(places.map((place) => place.read(sessionId)));
  const copies = reads.map((read) => (read.status === 'fulfilled' ? read.value : undefined));
  const epochOf = (copy: SessionCopy | undefined): number => copy?.ownership?.epoch ?? -1;
  const isOwner = (copy: SessionCopy | undefined, index: number): boolean =>
    copy?.ownership?.owner === places[index]!.name;
  const [sourceIndex] = [...copies.keys()]
    .filter((index) => copies[index])
    .toSorted(
      (one, other) =>
        epochOf(copies[other]) - epochOf(copies[one]) ||
        Number(isOwner(copies[other], other)) - Number(isOwner(copies[one], one)),
    );
  const failedRead = reads.find((read) => read.status === 'rejected');
  if (failedRead && (sourceIndex === undefined || !isOwner(copies[sourceIndex], sourceIndex)))
    throw failedRead.reason;
  if (sourceIndex === undefined) return undefined;
  const movedTo = copies[sourceIndex]!.ownership!.owner;
  const owner = places.find(({ name }) => name === movedTo);
  if (owner) return { owner, source: places[sourceIndex]! };
  const message = 'The session has moved to a place that is not in the list.';
  throw new AgentError('SESSION_MOVED', message, { details: { movedTo } });
}

/** Tells the other tabs of the browser. */
function postMove(move: MoveMessage): void {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(move);
  channel.close();
}
