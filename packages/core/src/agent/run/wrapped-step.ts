import { type AgentError, misconfigured } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { ToolCall } from '../../tool/prepare-call.ts';
import { isNotStarted, isSuspension, notStarted } from '../../tool/tool-outcome.ts';
import type { ToolOutcome } from '../../tool/tool-outcome.ts';
import { interruptedResult, wrappedResult } from '../../tool/tool-result.ts';
import type { Middleware, OuterStep } from '../middleware.ts';
import { resultOf } from '../step/finish.ts';
import type { Run } from './run.ts';

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
  type Given = GivenTo<K>;
  type Made = MadeBy<K>;
  const { use, wrappers } = run.setup;
  const parts = (wrappers[key] ??= use.filter((part) => part[key]));
  if (!parts.length) return inner(run, given);
  const isTool = key === 'wrapTool';
  const runFrom = (index: number, value: Given): Promise<Made> => {
    const part = parts[index];
    if (!part) return isTool ? inner(run, value) : run.waits.inner(() => inner(run.alive(), value));
    let isCalled = false;
    const next = (changed: Given): Promise<Made> => {
      if (isCalled && !isTool) return Promise.reject(calledTwice(part, key));
      isCalled = true;
      return runFrom(index + 1, changed);
    };
    const begin = (): Promise<Made> => {
      const result = part[key]!(next as never) as unknown as OuterStep<Given, Made>;
      checkFields(`${key}()`, { result }, 'result:function');
      return result(value, run, run.alive().steps);
    };
    return isTool
      ? (boundedTool(run, value as ToolCall, begin) as Promise<Made>)
      : boundedStep(run, key, begin);
  };
  return runFrom(0, given);
}

function calledTwice({ name = 'unnamed' }: Middleware, key: StepWrapper): AgentError {
  return misconfigured(`${key}() of "${name}" may call next() once.`);
}

/** Waits for a wrapper. If it hangs after an abort, the outer wrappers still end. */
function boundedStep<Made>(run: Run, key: StepWrapper, begin: () => Promise<Made>): Promise<Made> {
  const made = run.waits.wrapper(begin, (value) => {
    // After an abort, nothing is stored.
    if (key === 'wrapInput') run.signal.throwIfAborted();
    checkMade(key, value);
  });
  if (key !== 'wrapRun') return made;
  return made.catch((thrown: unknown) => endAborted(run, thrown) as Promise<Made>);
}

/**
 * Ends a run that was aborted while a wrapper hung. Leaves out the answer, because the answer has
 * not passed all wrappers. Rejects with the run's failure, if there is one. Rejects with `thrown` if
 * it does not come from the abort.
 */
export async function endAborted(run: Run, thrown: unknown): Promise<AgentResult> {
  if (!run.waits.isAbort(thrown)) throw thrown;
  run.moveTo('stopping');
  if (run.failure) throw run.failure;
  await run.close('aborted');
  run.moveTo('over');
  return resultOf(run, { reason: 'aborted' });
}

/** Fields of what a wrapper makes, for `checkFields`. The others make a `Next`. */
const madeFields: { readonly [K in StepWrapper]?: string } = {
  wrapRun: 'reason,text:string message:object',
  wrapInput: 'messages,decisions:array',
  wrapRequest: 'messages,tools:array',
};

const endFields = 'kind:answer|stored|told|refused|stopped reason:string';

/** Throws `CONFIGURATION` unless a wrapper made what its step makes. */
function checkMade(key: StepWrapper, made: unknown): void {
  const { to, kind } = Object(made) as Partial<Record<'to' | 'kind', unknown>>;
  const next = to === undefined ? endFields : 'to:model|tools';
  const isNext = key === 'wrapRequest' && (to ?? kind) !== undefined;
  const fields = isNext ? next : (madeFields[key] ?? next);
  checkFields(`The result of ${key}()`, made, fields);
}

/**
 * Waits for a wrapper of a tool call. Other tool calls run at the same time, so the wrapper does not
 * wait for their steps.
 */
async function boundedTool(
  { waits, calls }: Run,
  { toolUse }: ToolCall,
  begin: () => Promise<unknown>,
): Promise<ToolOutcome> {
  try {
    const outcome = await waits.code(begin());
    return isSuspension(outcome) || isNotStarted(outcome)
      ? outcome
      : wrappedResult(toolUse, outcome);
  } catch (error) {
    if (!waits.isAbort(error)) throw error;
    const hasStarted = calls.state(toolUse)?.started;
    return hasStarted ? interruptedResult(toolUse) : notStarted;
  }
}
