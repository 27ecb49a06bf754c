/**
 * What the next batch has to carry: the names of earlier ones. A head that named every batch would
 * grow with the session; so once a level is full, the next batch carries its names and moves one
 * level up (`takeOver`), and the level begins anew. The head stays small, each batch is named once,
 * by the head or by another batch, and all are found in as many rounds of reads as there are
 * levels.
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
 * The levels behind a batch that has taken over what these refs name, by their names or all that is
 * in them: it moves above the levels that it has emptied. Needs no width: writers may differ in
 * theirs.
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
