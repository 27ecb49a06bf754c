import type { Thing } from './things.ts';

/** Returns an error whose stack is the caller's. It is formatted only if the check fails. */
export function captureOrigin(): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 25;
  const origin = new Error('created here');
  Error.stackTraceLimit = stackTraceLimit;
  return origin;
}

/** Files that wrap functions such as `setTimeout` for all tests. Their frames say nothing. */
const wrapperFile = /\/test\/(left-behind|clock)\/[\w-]+\.ts/;
const foreign = /node_modules|node:|__vitest|<anonymous>|\bnative\b|\(cloudflare:|\(workerd:/;

/** Returns the frames of a stack without those of the check. */
function framesOf(origin: Error | undefined): readonly string[] {
  const lines = (origin?.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return lines.filter((line) => !wrapperFile.test(line));
}

const isOurs = (frame: string): boolean => !foreign.test(frame);
const isTestCode = (frame: string): boolean => /\.test\.ts|test-support|\btest\//.test(frame);

/** Returns whether a dependency has created the thing for itself. */
export function isForeign({ kind, origin }: Thing): boolean {
  if (!origin || kind === 'rejection') return false;
  const frames = framesOf(origin);
  // A dependency may start a server for its caller. The timers of a dependency are its own.
  return kind === 'timer' ? !isOurs(frames[0] ?? 'native') : !frames.some(isOurs);
}

/** Returns the frames of the project. */
export function ownFramesOf(origin: Error | undefined): readonly string[] {
  return framesOf(origin).filter(isOurs);
}

/**
 * Returns the place in the project that created the thing, such as `packages/core/src/a.ts:3:7`.
 */
export function placeOf({ kind, origin }: Thing): string | undefined {
  const frames = ownFramesOf(origin);
  // All runs begin at one place of core, which tells nothing.
  const frame = (kind === 'run' && frames.find(isTestCode)) || frames[0];
  return frame && relativePath(frame);
}

function relativePath(frame: string): string {
  const path = /(?:\(|at (?:async )?)([^()]+)\)?$/.exec(frame)?.[1] ?? frame.trim();
  const [, inside] = /\/((?:packages|test|demo|docs|scripts|bench)\/.+)$/.exec(path) ?? [];
  return (inside ?? path).replace(/\?[^:]*/, '');
}
