import { createHook } from 'node:async_hooks';
import { Session, type Profiler } from 'node:inspector/promises';

/** What some code did. */
export interface Work {
  /** Number of calls of each function of the library, by its place in the source. */
  readonly calls: ReadonlyMap<string, number>;
  /** Number of promises that the library created. */
  readonly promises: number;
}

/**
 * Counts the calls and promises of each piece of code, in this order. Only for Node: V8 counts the
 * calls. All pieces share one session of V8's profiler, because its start looks at all functions.
 */
export async function countWork(
  pieces: readonly (() => Promise<unknown>)[],
): Promise<readonly Work[]> {
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      // The test runner creates promises, too.
      if (type === 'PROMISE' && isInLibrary()) promises += 1;
    },
  });
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const all: Work[] = [];
  for (const code of pieces) {
    promises = 0;
    hook.enable();
    await code();
    hook.disable();
    // It also sets the counts to zero.
    const { result } = await session.post('Profiler.takePreciseCoverage');
    all.push({ calls: callsIn(result), promises });
  }
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  return all;
}

/** Returns the number of calls of each function of the library. */
function callsIn(coverage: readonly Profiler.ScriptCoverage[]): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (const { url, functions } of coverage) {
    const file = /\/core\/src\/(.*)/.exec(url)?.[1];
    if (file === undefined || file.includes('.test.')) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      const key = `${file} ${functionName} ${range?.startOffset}`;
      calls.set(key, (calls.get(key) ?? 0) + (range?.count ?? 0));
    }
  }
  return calls;
}

/**
 * Returns whether a function of the library is running. Reads the stack itself, because the test
 * runner's stack traces look up each place in a source map.
 */
function isInLibrary(): boolean {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_error, sites) =>
    sites.some((site) => site.getFileName()?.includes('/core/src/'));
  const { stack } = new Error('here');
  Error.prepareStackTrace = prepareStackTrace;
  return stack as unknown as boolean;
}

/** Returns the functions that `more` called more often than `less`, with the difference. */
export function moreCalls(less: Work, more: Work): Readonly<Record<string, number>> {
  const added = [...more.calls]
    .map(([key, count]) => [key, count - (less.calls.get(key) ?? 0)] as const)
    .filter(([, count]) => count !== 0);
  return Object.fromEntries(added.toSorted());
}
