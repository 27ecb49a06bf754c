import { misconfigured } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { ToolCall } from '../../tool/prepare-call.ts';
import {
  isNotStarted,
  isSuspension,
  notStarted,
  type ToolOutcome,
} from '../../tool/tool-outcome.ts';
import { interruptedResult, wrappedResult } from '../../tool/tool-result.ts';
import type { Middleware, OuterStep } from '../middleware.ts';
import { endAborted } from '../step/finish.ts';
import { callState } from './open-calls.ts';
import type { Run } from './run.ts';
import { partsWith } from './run-setup.ts';

/** The wrappers of steps. `wrapModel` is not one of them, because it wraps an object. */
export type StepWrapper = Exclude<keyof Middleware & `wrap${string}`, 'wrapModel'>;

/** The step inside the wrappers `K`. */
type StepIn<K extends StepWrapper> = Parameters<NonNullable<Middleware[K]>>[0];

type GivenTo<K extends StepWrapper> = Parameters<StepIn<K>>[0];

type MadeBy<K extends StepWrapper> = Awaited<ReturnType<StepIn<K>>>;

/** Runs the step `inner` inside the wrappers `key` of all middleware. The first one is the outermost. */
export function runWrapped<K extends StepWrapper>(
  run: Run,
  key: K,
  given: GivenTo<K>,
  inner: (run: Run, given: GivenTo<K>) => Promise<MadeBy<K>>,
): Promise<MadeBy<K>> {
  type Next = (value: GivenTo<K>) => Promise<MadeBy<K>>;
  const parts = partsWith(run.setup, key);
  if (!parts.length) return inner(run, given);
  const isTool = key === 'wrapTool';
  const innermost: Next = (value) =>
    isTool ? inner(run, value) : run.waits.inner(() => inner(run.alive(), value));
  const around = (next: Next, part: Middleware): Next => {
    const begin = (value: GivenTo<K>): Promise<MadeBy<K>> => {
      const inside = isTool ? next : once(next, `${key}() of "${part.name ?? 'unnamed'}"`);
      const result = part[key]!(inside as never) as unknown as OuterStep<GivenTo<K>, MadeBy<K>>;
      if (typeof result !== 'function') checkFields(`${key}()`, { result }, 'result:function');
      return result(value, run, run.alive().steps);
    };
    return (value) =>
      isTool
        ? (boundedTool(run, value as ToolCall, () => begin(value)) as Promise<MadeBy<K>>)
        : boundedStep(run, key, () => begin(value));
  };
  return parts.reduceRight(around, innermost)(given);
}

/** Returns the `next` of a wrapper that may call it once. */
function once<Given, Made>(
  next: (given: Given) => Promise<Made>,
  wrapper: string,
): (given: Given) => Promise<Made> {
  let isCalled = false;
  return (given) => {
    if (isCalled) return Promise.reject(misconfigured(`${wrapper} may call next() once.`));
    isCalled = true;
    return next(given);
  };
}

/** Waits for a wrapper. If it hangs after an abort, the outer wrappers still end. */
function boundedStep<Made>(run: Run, key: StepWrapper, begin: () => Promise<Made>): Promise<Made> {
  const made = run.waits.wrapper(begin, (result) => checkMade(run, key, result));
  if (key !== 'wrapRun') return made;
  // The outer wrappers get the result of an aborted run.
  return made.catch((thrown: unknown) => endAborted(run, thrown) as Promise<Made>);
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

/** Fields of what a wrapper makes, for `checkFields`. The others make a `Next`. */
const madeFields: { readonly [K in StepWrapper]?: string } = {
  wrapRun: 'reason,text:string message:object',
  wrapInput: 'messages,decisions:array',
  wrapRequest: 'messages,tools:array',
};

const endingFields = 'kind:answer|stored|told|refused|stopped reason:string';

/** Throws `CONFIGURATION` unless a wrapper made what its step makes. */
function checkMade(run: Run, key: StepWrapper, made: unknown): void {
  // After an abort, nothing is stored.
  if (key === 'wrapInput') run.signal.throwIfAborted();
  const { to, kind } = Object(made) as Partial<Record<'to' | 'kind', unknown>>;
  const next = to === undefined ? endingFields : 'to:model|tools';
  const isNext = key === 'wrapRequest' && (to ?? kind) !== undefined;
  const fields = isNext ? next : (madeFields[key] ?? next);
  checkFields(`The result of ${key}()`, made, fields);
}
