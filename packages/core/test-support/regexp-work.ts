import { setFlagsFromString } from 'node:v8';

/** How much the regular expressions of some code did. */
export interface RegExpWork {
  /** Number of searches. A replacement of all matches makes one search for each match. */
  readonly searches: number;
  /** Patterns of the searches that backtracked too often for the text that they covered. */
  readonly excesses: readonly string[];
}

/** Creates a pattern that finds nothing after `limit` backtracks. */
type LimitedRegExp = (source: string, flags: string, limit: number) => RegExp;

/** Backtracks that each search may make in addition. */
const freeBacktracks = 1000;

/**
 * Counts the work of the regular expressions in some synchronous code. A search may backtrack
 * `perCharacter` times for each character that it covers. Only for Node: V8 counts the backtracks.
 */
export function regExpWork(code: () => void, perCharacter: number): RegExpWork {
  setFlagsFromString('--allow-natives-syntax');
  const limited = new Function(
    'source, flags, limit',
    'return %NewRegExpWithBacktrackLimit(source, flags, limit)',
  ) as LimitedRegExp;
  const twins = new Map<string, RegExp>();
  const { exec } = RegExp.prototype;
  const excesses = new Set<string>();
  let searches = 0;

  /** Returns whether a search with a limit has the same result. */
  const isWithinLimit = (pattern: RegExp, text: string, from: number, index: number): boolean => {
    const { source, flags } = pattern;
    const needed = freeBacktracks + (index - from) * perCharacter;
    // V8 takes only small integers. Few different limits let searches share a pattern.
    const limit = (2 ** Math.ceil(Math.log2(needed))) | 0;
    const key = `${limit} ${flags} ${source}`;
    // At the end of the text, the second alternative matches if the limit was not reached.
    const twin = twins.get(key) ?? limited(`(?:${source})|(?![^])`, flags, limit);
    twins.set(key, twin);
    twin.lastIndex = from;
    const match = Reflect.apply(exec, twin, [text]) as RegExpExecArray | null;
    return match?.index === index;
  };

  // All methods of patterns and strings call `exec` once it is replaced.
  RegExp.prototype.exec = function (this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = Reflect.apply(exec, this, [text]) as RegExpExecArray | null;
    searches += 1;
    const isSearch = !this.sticky && from <= text.length;
    if (isSearch && !isWithinLimit(this, text, from, match?.index ?? text.length))
      excesses.add(String(this));
    return match;
  };
  try {
    code();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return { searches, excesses: [...excesses] };
}
