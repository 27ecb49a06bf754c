import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note, registry } from './things.ts';

/** Notes all Web Locks of the page and its workers that are held or requested. */
export function watchLocks(): void {
  const { prototype } = LockManager;
  if (!isFirstPatch(prototype)) return;
  const { locks } = navigator;
  const { request, query } = prototype;
  const origins = new Map<string, Error>();
  prototype.request = function requestNoted(this: LockManager, ...values: unknown[]) {
    origins.set(String(values[0]), captureOrigin());
    return (request as (...given: unknown[]) => Promise<unknown>).apply(this, values);
  } as LockManager['request'];

  let noted = new Set<string>();
  registry.updates.push(async () => {
    const { held = [], pending = [] } = await query.call(locks);
    const states = [
      ...held.map((lock) => ({ ...lock, state: 'held' })),
      ...pending.map((lock) => ({ ...lock, state: 'requested' })),
    ];
    const ids = new Set<string>();
    for (const { name, clientId, state } of states) {
      const id = JSON.stringify(['lock', name, clientId, state]);
      ids.add(id);
      if (noted.has(id)) continue;
      const phrase = `a lock (${name}, ${state})`;
      note(id, { kind: 'lock', phrase, origin: origins.get(name ?? '') });
    }
    for (const id of noted) if (!ids.has(id)) forget(id);
    noted = ids;
    if (ids.size === 0) origins.clear();
  });
}
