import { checkFields } from '../../error/options/check-fields.ts';
import { array, either, object, oneOf, string } from '../../error/options/kinds.ts';
import type { FieldTable, Kind } from '../../error/options/option-table.ts';
import {
  isNotStarted,
  isSuspension,
  notStarted,
  interruptedResult,
  wrappedResult,
  type ToolCall,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import type { InnerStep, Middleware, Wrap } from '../middleware.ts';
import { endReason, isNext } from '../next.ts';
import type { CallStates } from './call-states.ts';
import { memberName, middlewareWith, type RunSetup } from './run-setup.ts';
import { fieldOf, misconfigured } from '../../error/agent-error.ts';
import { isObjectOrArray } from '../../message/json.ts';
import type { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';
import type { Halt } from '../../wait/halt.ts';
import type { Run } from '../seam/run.ts';

/** All wrappers but `wrapModel`, which wraps an object. */
type WrapperKey = Exclude<keyof Middleware & `wrap${string}`, 'wrapModel'>;

/** Wrappers that call their `next` once. */
type StepKey = Exclude<WrapperKey, 'wrapTool'>;

/** The parts of a run that its wrappers need. */
interface WrapperParts {
  readonly setup: RunSetup;
  readonly states: CallStates;
  readonly halt: Halt;
  readonly waits: BoundedWaits;
  /** Returns the `run` that wrappers get. */
  readonly run: () => Run;
}

/** What a wrapper gets, and what it returns. */
type In<K extends WrapperKey> = Parameters<NonNullable<Middleware[K]>>[0];
type Out<K extends WrapperKey> = Awaited<ReturnType<NonNullable<Middleware[K]>>>;

/** The wrappers around the steps of a run. The first middleware is the outermost. */
export class Wrappers {
  readonly #parts: WrapperParts;

  constructor(parts: WrapperParts) {
    this.#parts = parts;
  }

  /**
   * Runs the step `inner` inside the wrappers `key` of all middleware. `recover`: returns the
   * outcome of a wrapper that fails. Without wrappers, that of the step.
   */
  run<K extends StepKey>(
    key: K,
    input: In<K>,
    inner: InnerStep<In<K>, Out<K>>,
    recover?: (thrown: unknown) => Promise<Out<K>>,
  ): Promise<Out<K>> {
    const { setup, halt, waits } = this.#parts;
    const withRecovery = (step: typeof inner): typeof inner =>
      recover ? (value) => step(value).catch(recover) : step;
    const wrapping = middlewareWith(setup, key);
    if (!wrapping.length) return withRecovery(inner)(input);
    const innermost: typeof inner = (value) => waits.duringStep(() => inner(value));
    const wrap = (next: typeof inner, middleware: Middleware): typeof inner => {
      const where = memberName(key, middleware);
      // If a wrapper hangs after an abort, the outer wrappers still end.
      return withRecovery((value) =>
        waits.forWrapper(
          where,
          checkedNext(key, where, next),
          (nextOnce) => callWrapper(this.#parts, middleware, key, value, nextOnce),
          (outcome) => checkOutcome(halt, key, where, outcome),
        ),
      );
    };
    return wrapping.reduceRight(wrap, innermost)(input);
  }

  /**
   * Runs one tool call inside `wrapTool` of all middleware. They may call `next` several times.
   * Other tool calls run at the same time, so a wrapper does not wait for their steps.
   */
  runTool(call: ToolCall, inner: InnerStep<ToolCall, ToolOutcome>): Promise<ToolOutcome> {
    const { setup, states, halt, waits } = this.#parts;
    const wrap = (next: typeof inner, middleware: Middleware): typeof inner => {
      const where = memberName('wrapTool', middleware);
      const checked = checkedNext('wrapTool', where, next);
      // The wrapper may do other work before it waits for its `next`, or may not wait at all.
      const handledNext: typeof inner = (input) => {
        const step = checked(input);
        // An error of the step, such as one of a full store, has no name of a wrapper.
        step.catch((error: unknown) => waits.noteThrower(undefined, error));
        return step;
      };
      return async (input) => {
        const { toolUse } = input;
        try {
          const work = callWrapper(this.#parts, middleware, 'wrapTool', input, handledNext);
          const outcome = await waits.forCode(work);
          const isOpen = isSuspension(outcome) || isNotStarted(outcome);
          return isOpen
            ? outcome
            : wrappedResult(toolUse, outcome, `The result of ${where} for "${toolUse.name}"`);
        } catch (error) {
          if (!halt.isAbort(error) && !halt.isStop(error)) {
            waits.noteThrower(where, error);
            throw error;
          }
          return states.of(toolUse)?.started ? interruptedResult(toolUse) : notStarted;
        }
      };
    };
    return middlewareWith(setup, 'wrapTool').reduceRight(wrap, inner)(call);
  }
}

/** Calls a wrapper. Throws `CONFIGURATION` if it returns no promise, such as a function. */
function callWrapper<K extends WrapperKey>(
  { halt, run }: WrapperParts,
  middleware: Middleware,
  key: K,
  input: In<K>,
  next: InnerStep<In<K>, Out<K>>,
): Promise<Out<K>> {
  halt.throwIfOver();
  const wrappers: { readonly [W in WrapperKey]?: Wrap<In<W>, Out<W>> } = middleware;
  const outcome = wrappers[key]!(input, next, run());
  if (isObjectOrArray(outcome)) return outcome;
  const kind = typeof outcome === 'function' ? 'a function' : 'no promise';
  const shape = `async ${key}(input, next, run) { … return next(input); }`;
  throw misconfigured(`${memberName(key, middleware)} returned ${kind}. Its shape is ${shape}.`);
}

/** Returns a `next` that throws `CONFIGURATION` unless it gets an input of its step. */
function checkedNext<K extends WrapperKey>(
  key: K,
  where: string,
  next: InnerStep<In<K>, Out<K>>,
): InnerStep<In<K>, Out<K>> {
  return (input) => {
    checkFields(`The input of next() in ${where}`, input, inputFields[key]);
    return next(input);
  };
}

const runInput = { messages: array, decisions: array };

/** Fields of what wrappers pass to `next`. */
const inputFields: { readonly [K in WrapperKey]: FieldTable<In<K>> } = {
  wrapRun: runInput,
  wrapInput: runInput,
  wrapSettle: runInput,
  wrapRequest: { messages: array, tools: array },
  wrapReply: { message: object },
  wrapRound: { calls: array },
  wrapTool: { tool: object, toolUse: object },
};

/** Fields of what wrappers return. The other wrappers return a `Next`. */
const outcomeFields: { readonly [K in StepKey]?: FieldTable<Out<K>> } = {
  wrapRun: { text: string, reason: either(endReason, oneOf('error')) },
  wrapInput: runInput,
  wrapRequest: { messages: array, tools: array },
};

const nextStep = { to: oneOf('model', 'tools') };
const endingFields = {
  kind: oneOf('answer', 'custom', 'stored', 'limit', 'unanswered'),
  reason: endReason,
};
const messageEnding = { ...endingFields, message: object };
const limitEnding = { ...endingFields, draft: object };

/** Throws `CONFIGURATION` unless a wrapper returned what its step returns. */
function checkOutcome(halt: Halt, key: StepKey, where: string, outcome: unknown): void {
  // After an abort, nothing is stored.
  if (key === 'wrapInput') halt.signal.throwIfAborted();
  const fields = Object(outcome) as object;
  // `wrapRequest` may make a `Next` in place of a request.
  const ownFields = key === 'wrapRequest' && isNext(fields) ? undefined : outcomeFields[key];
  checkFields(`The result of ${where}`, outcome, ownFields ?? fieldsOfNext(fields));
}

/** Returns the fields that a `Next` must have. */
function fieldsOfNext(next: object): Readonly<Record<string, Kind>> {
  if ('to' in next) return nextStep;
  switch (fieldOf(next, 'kind')) {
    case 'answer':
    case 'custom':
    case 'stored':
      return messageEnding;
    case 'limit':
      return limitEnding;
    default:
      return endingFields;
  }
}
