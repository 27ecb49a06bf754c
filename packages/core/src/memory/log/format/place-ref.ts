/**
 * Returns the names of earlier batches that the next batch must contain. The head names batches in
 * levels. A head that named every batch would grow with the session. When a level is full, the next
 * batch takes over the names of that level and moves one level up (`takeOver`). That level is then
 * empty. The head stays small, and the head or one other batch names each batch. To find all
 * batches, a reader needs one read per level.
 */
export function fullLevels(
  levels: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  const open = levels.findIndex((names) => names.length < width);
  return levels.slice(0, open === -1 ? levels.length : open).flat();
}

/**
 * Returns the levels after the new batch `ref` has taken over the `taken` batches, as names or as
 * copies of their records. The new batch moves above the levels that it emptied. Works with any
 * width, because writers may use different widths.
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
