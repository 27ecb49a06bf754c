import { moveSession, type SessionPlace } from '@isoloop/core/move';

/** Places of one session, between which it moves. */
interface KilledPlaces {
  readonly sessionId: string;
  readonly from: SessionPlace;
  readonly to: SessionPlace;
}

/**
 * Kills a move before and after each of its steps, each time with a new session of `open`. Then a
 * new program moves the session. Returns for each kill which places owned the session after it.
 */
export async function killedMoves(
  open: () => Promise<KilledPlaces>,
  check: (places: KilledPlaces, kill: string) => Promise<void>,
): Promise<readonly string[]> {
  const kills: string[] = [];
  for (let at = 0; ; at += 1) {
    const places = await open();
    const { sessionId, from, to } = places;
    let left = at;
    const isDead = (): boolean => left-- <= 0;
    const killable = (place: SessionPlace): SessionPlace => {
      const step = async <T>(run: () => Promise<T>): Promise<T> => {
        if (isDead()) throw new Error('killed');
        const result = await run();
        if (isDead()) throw new Error('killed');
        return result;
      };
      return {
        name: place.name,
        read: (id) => step(() => place.read(id)),
        put: (copy) => step(() => place.put(copy)),
        setOwner: (id, change) => step(() => place.setOwner(id, change)),
      };
    };
    const hasEnded = await moveSession(sessionId, { from: killable(from), to: killable(to) }).then(
      () => true,
      () => false,
    );
    const owners = await ownersOf(places);
    if (owners.length > 1) throw new Error(`Kill ${at} left two owners.`);
    await moveSession(sessionId, { from, to });
    const [owner, ...others] = await ownersOf(places);
    if (owner !== 'to' || others.length) throw new Error(`Kill ${at} left no single owner.`);
    await check(places, String(at));
    kills.push(owners[0] ?? 'given');
    if (hasEnded) return kills;
  }
}

async function ownersOf({ sessionId, from, to }: KilledPlaces): Promise<readonly string[]> {
  const own = async (place: SessionPlace): Promise<boolean> =>
    (await place.read(sessionId))?.ownership?.owner === place.name;
  return [...((await own(from)) ? ['from'] : []), ...((await own(to)) ? ['to'] : [])];
}
