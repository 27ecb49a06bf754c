import type { BrokenRule } from '../request-rules/broken-rules.ts';

/** The rules that requests of the running test, or else of its file, have broken. */
interface Registry {
  /** Whether a setup file checks this global object. Workers have no tests. */
  isWatched: boolean;
  scope: Scope | undefined;
}

/** A test, or a test file with its `beforeAll` and `afterAll` hooks. */
export interface Scope {
  readonly broken: BrokenRule[];
  /** Ids of rules that the requests may break. */
  readonly allowed: Set<string>;
}

export const channelName = 'isoloop.tests.sent-requests';

const key = Symbol.for(channelName);

/** Returns the state of the check. Test files share a global object, but load this module again. */
export function registry(): Registry {
  return ((globalThis as { [key]?: Registry })[key] ??= { isWatched: false, scope: undefined });
}

export const newScope = (): Scope => ({ broken: [], allowed: new Set() });

export function noteBroken(broken: readonly BrokenRule[]): void {
  registry().scope?.broken.push(...broken);
}

/** Returns what the requests of the scope did wrong, one sentence for each rule. */
export function sentencesOf({ broken, allowed }: Scope): readonly string[] {
  const sentences = broken.filter(({ id }) => !allowed.has(id)).map(phraseOf);
  return [...new Set(sentences)];
}

/** Returns which rule is broken, where in the request, and where the rule is published. */
export function phraseOf({ id, text, at, source }: BrokenRule): string {
  const shown = at.slice(0, 3).join(', ');
  const places = at.length > 3 ? `${shown} and ${at.length - 3} more places` : shown;
  return `A request breaks the rule ${id}: ${text} It is broken at ${places}. Published: ${source}`;
}
