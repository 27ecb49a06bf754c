/// <reference types="node" />
import { setFlagsFromString } from 'node:v8';

/** How much the regular expressions of some code did. */
export interface RegExpWork {
  /** Number of searches. A replacement of all matches makes one search for each match. */
  readonly searches: number;
  /** Number of characters that the searches went through, each up to the end of its match. */
  readonly characters: number;
  /** Patterns of the searches that backtracked too often for the text that they covered. */
  readonly excesses: readonly string[];
}

/** Creates a pattern that finds nothing after `limit` backtracks. */
type LimitedRegExp = (source: string, flags: string, limit: number) => RegExp;

/** Backtracks that each search may make in addition. */
const freeBacktracks = 1000;

/**
 * Gives each loop of a pattern an end that no text reaches. V8 does not count how often a loop
 * without an end goes back.
 */
function withCountedLoops(source: string): string {
  const parts = /\\.|\[(?:\\.|[^\]\\])*\]|([*+])|\{(\d+),\}/gs;
  return source.replace(parts, (part, sign?: string, from?: string) => {
    if (sign) return sign === '*' ? '{0,1000000}' : '{1,1000000}';
    return from ? `{${from},1000000}` : part;
  });
}

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
  const patterns: RegExp = RegExp.prototype;
  const { exec } = patterns;
  const excesses = new Set<string>();
  let searches = 0;
  let characters = 0;

  /** Returns whether a search with a limit has the same result. */
  const isWithinLimit = (pattern: RegExp, text: string, from: number, index: number): boolean => {
    const { source, flags } = pattern;
    const needed = freeBacktracks + (index - from) * perCharacter;
    // V8 takes only small integers. Few different limits let searches share a pattern.
    const limit = (2 ** Math.ceil(Math.log2(needed))) | 0;
    const key = `${limit} ${flags} ${source}`;
    // If the limit was not reached, the second alternative matches: at once in a sticky search, or
    // else at the end of the text.
    let twin = twins.get(key);
    if (!twin) {
      // The conversion searches, too.
      const counting = patterns.exec;
      patterns.exec = exec;
      const last = pattern.sticky ? '' : '(?![^])';
      twin = limited(`(?:${withCountedLoops(source)})|${last}`, flags, limit);
      patterns.exec = counting;
      twins.set(key, twin);
    }
    twin.lastIndex = from;
    const match = Reflect.apply(exec, twin, [text]) as RegExpExecArray | null;
    return match?.index === index;
  };

  // All methods of patterns and strings call `exec` once it is replaced.
  patterns.exec = function (this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = Reflect.apply(exec, this, [text]) as RegExpExecArray | null;
    const end = match ? match.index + match[0].length : text.length;
    searches += 1;
    characters += this.sticky ? (match?.[0].length ?? 0) : Math.max(0, end - from);
    const index = match?.index ?? (this.sticky ? from : text.length);
    if (from <= text.length && !isWithinLimit(this, text, from, index)) excesses.add(String(this));
    return match;
  };
  try {
    code();
  } finally {
    patterns.exec = exec;
  }
  return { searches, characters, excesses: [...excesses] };
}
