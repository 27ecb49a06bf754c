export interface Placed {
  /** The refs that the new batch has to carry. */
  readonly index: readonly string[];
  /** The levels with the new ref in its place. */
  levels(ref: string): readonly (readonly string[])[];
}

/**
 * Where the head names a new batch. A head that named every batch would grow with the session; so once a level is full, the next
 * batch carries its names and moves one level up, and the level begins anew. The head stays small, each batch is named once, by
 * the head or by another batch, and all are found in as many rounds of reads as there are levels.
 */
export function placeRef(levels: readonly (readonly string[])[], width: number): Placed {
  let level = 0;
  while ((levels[level]?.length ?? 0) >= width) level++;
  return {
    index: levels.slice(0, level).flat(),
    levels: (ref) => [...levels.slice(0, level).map(() => []), [...(levels[level] ?? []), ref], ...levels.slice(level + 1)],
  };
}
