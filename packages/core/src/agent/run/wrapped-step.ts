import { checkFields } from '../../error/check-fields.ts';
import { array, func, oneOf, string } from '../../error/kinds.ts';
import type { FieldTable } from '../../error/option-table.ts';
import {
  isNotStarted,
  isSuspension,
  notStarted,
  interruptedResult,
  wrappedResult,
} from '../../tool/tool-call.ts';
import type { ToolCall, ToolOutcome } from '../../tool/tool-call.ts';
import type { InnerStep, Middleware, Wrap } from '../middleware.ts';
import { markHandled } from '../../wait/mark-handled.ts';
import { isNext } from '../next.ts';
import { callState } from './open-calls.ts';
import type { Run } from './run.ts';
import { memberName, partsWith } from './run-setup.ts';

/** All wrappers but `wrapModel`, which wraps an object. */
type WrapperKey = Exclude<keyof Middleware & `wrap${string}`, 'wrapModel'>;

/** Wrappers that call their `next` once. */
type StepKey = Exclude<WrapperKey, 'wrapTool'>;

/** What each wrapper gets, and what it returns. */
type StepTypes = {
  readonly [K in WrapperKey]: NonNullable<Middleware[K]> extends Wrap<infer In, infer Out>
    ? { readonly in: In; readonly out: Out }
    : never;
};
type Step<K extends WrapperKey> = InnerStep<StepTypes[K]['in'], StepTypes[K]['out']>;
type ToolStep = Step<'wrapTool'>;
type Wrappers = {
  readonly [K in WrapperKey]?: Wrap<StepTypes[K]['in'], StepTypes[K]['out']>;
};

/**
 * Runs the step `inner` inside the wrappers `key` of all middleware. The first one is the
 * outermost. `recover`: returns the outcome of a wrapper or of the step if it fails.
 */
export function runWrapped<K extends StepKey>(
  run: Run,
  key: K,
  input: StepTypes[K]['in'],
  inner: Step<K>,
  recover?: (thrown: unknown) => Promise<StepTypes[K]['out']>,
): Promise<StepTypes[K]['out']> {
  const parts = partsWith(run.setup, key);
  const withRecovery = (step: Step<K>): Step<K> =>
    recover ? (value) => step(value).catch(recover) : step;
  if (!parts.length) return withRecovery(inner)(input);
  const innermost: Step<K> = (value) => run.waits.duringStep(() => inner(value));
  const wrap = (next: Step<K>, part: Middleware): Step<K> => {
    const where = memberName(key, part);
    // If a wrapper hangs after an abort, the outer wrappers still end.
    return withRecovery((value) =>
      run.waits.forWrapper(
        where,
        next,
        (nextOnce) => callWrapper(run, part, key, nextOnce, value),
        (outcome) => checkOutcome(run, key, where, outcome),
      ),
    );
  };
  return parts.reduceRight(wrap, innermost)(input);
}

/**
 * Runs one tool call inside `wrapTool` of all middleware. They may call `next` several times. Other
 * tool calls run at the same time, so a wrapper does not wait for their steps.
 */
export function runWrappedTool(run: Run, call: ToolCall, inner: ToolStep): Promise<ToolOutcome> {
  const wrap = (next: ToolStep, part: Middleware): ToolStep => {
    // The wrapper may do other work before it waits for its `next`, or may not wait at all.
    const handledNext: ToolStep = (input) => markHandled(next(input));
    return async (input) => {
      const { toolUse } = input;
      try {
        const work = callWrapper(run, part, 'wrapTool', handledNext, input);
        const outcome = await run.waits.forCode(work);
        const isOpen = isSuspension(outcome) || isNotStarted(outcome);
        return isOpen ? outcome : wrappedResult(toolUse, outcome);
      } catch (error) {
        if (!run.waits.isAbort(error)) throw error;
        return callState(run, toolUse)?.started ? interruptedResult(toolUse) : notStarted;
      }
    };
  };
  return partsWith(run.setup, 'wrapTool').reduceRight(wrap, inner)(call);
}

/** Runs what a middleware puts in the place of the step `next`. */
function callWrapper<K extends WrapperKey>(
  run: Run,
  part: Middleware,
  key: K,
  next: Step<K>,
  input: StepTypes[K]['in'],
): Promise<StepTypes[K]['out']> {
  const wrappers: Wrappers = part;
  const outer = wrappers[key]!(next);
  if (typeof outer !== 'function') {
    // It may be a promise that rejects: an async wrapper of the shape `(input, next)`.
    markHandled(outer);
    checkFields(memberName(key, part), { result: outer }, { result: func });
  }
  return outer(input, run, run.alive().steps);
}

/** Fields of what wrappers return. The other wrappers return a `Next`. */
const outcomeFields: { readonly [K in StepKey]?: FieldTable<StepTypes[K]['out']> } = {
  wrapRun: { text: string, reason: string },
  wrapInput: { messages: array },
  wrapRequest: { messages: array, tools: array },
};

const nextStep = { to: oneOf('model', 'tools') };
const ending = { kind: string, reason: string };

/** Throws `CONFIGURATION` unless a wrapper returned what its step returns. */
function checkOutcome(run: Run, key: StepKey, where: string, outcome: unknown): void {
  // After an abort, nothing is stored.
  if (key === 'wrapInput') run.signal.throwIfAborted();
  const fields = Object(outcome) as object;
  const nextFields = 'to' in fields ? nextStep : ending;
  // `wrapRequest` may make a `Next` in place of a request.
  const ownFields = key === 'wrapRequest' && isNext(fields) ? undefined : outcomeFields[key];
  checkFields(`The result of ${where}`, outcome, ownFields ?? nextFields);
}
