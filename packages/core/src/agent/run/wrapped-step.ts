import { misconfigured, checkFields } from '../../error/agent-error.ts';
import {
  isNotStarted,
  isSuspension,
  notStarted,
  interruptedResult,
  wrappedResult,
} from '../../tool/tool-call.ts';
import type { ToolCall, ToolOutcome } from '../../tool/tool-call.ts';
import type { InnerStep, Middleware, Wrap } from '../middleware.ts';
import { isNext } from '../next.ts';
import { callState } from './open-calls.ts';
import type { Run } from './run.ts';
import { partsWith } from './run-setup.ts';

/** All wrappers but `wrapModel`, which wraps an object. */
type WrapperKey = Exclude<keyof Middleware & `wrap${string}`, 'wrapModel'>;

/** Wrappers that call their `next` once. */
type StepKey = Exclude<WrapperKey, 'wrapTool'>;

/** What each wrapper gets, and what it makes. */
type Wrapped = {
  readonly [K in WrapperKey]: NonNullable<Middleware[K]> extends Wrap<infer Given, infer Made>
    ? { readonly given: Given; readonly made: Made }
    : never;
};
type Step<K extends WrapperKey> = InnerStep<Wrapped[K]['given'], Wrapped[K]['made']>;
type Wrappers = { readonly [K in WrapperKey]?: Wrap<Wrapped[K]['given'], Wrapped[K]['made']> };

/**
 * Runs the step `inner` inside the wrappers `key` of all middleware. The first one is the outermost.
 * `recover`: returns what a wrapper or the step makes if it fails.
 */
export function runWrapped<K extends StepKey>(
  run: Run,
  key: K,
  given: Wrapped[K]['given'],
  inner: Step<K>,
  recover?: (thrown: unknown) => Promise<Wrapped[K]['made']>,
): Promise<Wrapped[K]['made']> {
  const parts = partsWith(run.setup, key);
  const recovered = (made: Promise<Wrapped[K]['made']>): Promise<Wrapped[K]['made']> =>
    recover ? made.catch(recover) : made;
  if (!parts.length) return recovered(inner(given));
  const innermost: Step<K> = async (value) => run.alive().waits.inner(() => inner(value));
  const wrap = (next: Step<K>, part: Middleware): Step<K> => {
    return (value) => {
      // If a wrapper hangs after an abort, the outer wrappers still end.
      const made = run.waits.wrapper(
        () => callWrapper(run, part, key, once(run, next, key, part), value),
        (result) => checkMade(run, key, result),
      );
      return recovered(made);
    };
  };
  return parts.reduceRight(wrap, innermost)(given);
}

/** Runs one tool call inside `wrapTool` of all middleware. They may call `next` several times. */
export function runWrappedTool(
  run: Run,
  call: ToolCall,
  inner: Step<'wrapTool'>,
): Promise<ToolOutcome> {
  const wrap = (next: Step<'wrapTool'>, part: Middleware): Step<'wrapTool'> => {
    return (given) =>
      boundedTool(run, given, () => callWrapper(run, part, 'wrapTool', next, given));
  };
  return partsWith(run.setup, 'wrapTool').reduceRight(wrap, inner)(call);
}

/** Runs what a middleware puts in the place of the step `next`. */
function callWrapper<K extends WrapperKey>(
  run: Run,
  part: Middleware,
  key: K,
  next: Step<K>,
  given: Wrapped[K]['given'],
): Promise<Wrapped[K]['made']> {
  const wrappers: Wrappers = part;
  const outer = wrappers[key]!(next);
  if (typeof outer !== 'function') {
    // It may be a promise that rejects: an async wrapper of the shape `(given, next)`.
    void Promise.allSettled([outer]);
    checkFields(`${key}()`, { result: outer }, 'result:function');
  }
  return outer(given, run, run.alive().steps);
}

/** Returns a `next` whose second call rejects, and makes the agent call fail. */
function once<Given, Made>(
  run: Run,
  next: InnerStep<Given, Made>,
  key: StepKey,
  { name = 'unnamed' }: Middleware,
): InnerStep<Given, Made> {
  let isCalled = false;
  return (given) => {
    if (isCalled) {
      run.fail(misconfigured(`${key}() of "${name}" may call next() once.`));
      return Promise.reject(run.signal.reason);
    }
    isCalled = true;
    return next(given);
  };
}

/**
 * Waits for a wrapper of a tool call. Other tool calls run at the same time, so the wrapper does not
 * wait for their steps.
 */
async function boundedTool(
  run: Run,
  { toolUse }: ToolCall,
  begin: () => Promise<unknown>,
): Promise<ToolOutcome> {
  try {
    const outcome = await run.waits.code(begin());
    return isSuspension(outcome) || isNotStarted(outcome)
      ? outcome
      : wrappedResult(toolUse, outcome);
  } catch (error) {
    if (!run.waits.isAbort(error)) throw error;
    return callState(run, toolUse)?.started ? interruptedResult(toolUse) : notStarted;
  }
}

/** Fields of what wrappers make, for `checkFields`. The other wrappers make a `Next`. */
const madeFields: { readonly [K in StepKey]?: string } = {
  wrapRun: 'reason,text:string message:object',
  wrapInput: 'messages,decisions:array',
  wrapRequest: 'messages,tools:array',
};

const endingFields = 'kind:answer|stored|custom|limit|unanswered reason:string';

/** Fields of endings without an answer, by their kind. The others have a message. */
const ownFields: Readonly<Record<string, string>> = {
  limit: 'draft:object',
  unanswered: 'message:object|?',
};

/** Throws `CONFIGURATION` unless a wrapper made what its step makes. */
function checkMade(run: Run, key: StepKey, made: unknown): void {
  // After an abort, nothing is stored.
  if (key === 'wrapInput') run.signal.throwIfAborted();
  const given = Object(made) as object & { readonly kind?: string };
  const ending = `${endingFields} ${ownFields[given.kind!] ?? 'message:object'}`;
  const next = 'to' in given ? 'to:model|tools' : ending;
  // `wrapRequest` may make a `Next` in place of a request.
  const isInstead = key === 'wrapRequest' && isNext(given);
  checkFields(`The result of ${key}()`, made, isInstead ? next : (madeFields[key] ?? next));
}
