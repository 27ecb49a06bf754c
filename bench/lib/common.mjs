const cache = new WeakMap();

/**
 * Builds a client once per scenario object. Keep this file tiny, because it is bundled with the
 * contenders.
 */
export function memo(sc, build) {
  if (!cache.has(sc)) cache.set(sc, build());
  return cache.get(sc);
}
