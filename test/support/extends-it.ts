/** Returns whether `later` only adds to `earlier`: to strings, at the end of lists, and fields. */
export function extendsIt(later: unknown, earlier: unknown): boolean {
  if (earlier === undefined || later === earlier) return true;
  if (typeof earlier === 'string') return typeof later === 'string' && later.startsWith(earlier);
  if (typeof earlier !== 'object' || earlier === null) return false;
  if (typeof later !== 'object' || later === null) return false;
  if (Array.isArray(later) !== Array.isArray(earlier)) return false;
  const fields = later as Record<string, unknown>;
  return Object.entries(earlier).every(
    ([name, value]) => Object.hasOwn(fields, name) && extendsIt(fields[name], value),
  );
}
