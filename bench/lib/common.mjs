const cache = new WeakMap();

/**
 * Builds a client once per scenario object, or anew if the scenario is `fresh`. Keep this file
 * tiny, because it is bundled with the contenders.
 */
export function memo(sc, build) {
  if (sc.fresh) return build();
  if (!cache.has(sc)) cache.set(sc, build());
  return cache.get(sc);
}
