/**
 * Returns the names of earlier batches that the next batch must carry. A head that named every
 * batch would grow with the session. So once a level is full, the next batch carries its names and
 * moves one level up (`takeOver`). That level then starts empty. The head stays small, and each
 * batch is named once, by the head or by another batch. A reader finds all batches in as many
 * rounds of reads as there are levels.
 */
export function fullLevels(
  levels: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  let level = 0;
  while ((levels[level]?.length ?? 0) >= width) level++;
  return levels.slice(0, level).flat();
}

/**
 * Returns the levels after a batch has taken over the `taken` refs, as names or with their records.
 * The batch moves above the levels that it emptied. Needs no width, because writers may use
 * different ones.
 */
export function takeOver(
  levels: readonly (readonly string[])[],
  taken: readonly string[],
  ref: string,
): readonly (readonly string[])[] {
  const gone = new Set(taken);
  const left = levels.map((level) => level.filter((each) => !gone.has(each)));
  const place = levels.findLastIndex((each, level) => each.length > 0 && !left[level]!.length) + 1;
  return [...left.slice(0, place), [...(left[place] ?? []), ref], ...left.slice(place + 1)];
}
