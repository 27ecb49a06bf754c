import { checkFields } from '../error/check-fields.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import type { Memory } from '../memory/memory.ts';
import type { Msg } from '../message/msg.ts';
import { boundedModel } from '../model/bounded-model.ts';
import type { ChatModel, ModelRequest } from '../model/chat-model.ts';
import { runCall } from '../tool/run-call.ts';
import { isNotStarted, isSuspension, notStarted } from '../tool/tool-outcome.ts';
import { interruptedResult, wrappedResult } from '../tool/tool-result.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import { boundedCall } from './agent-call.ts';
import type { AgentSettings } from './kernel-options.ts';
import { loop, runRound, takeReply } from './loop.ts';
import { makeRequest } from './request.ts';
import { settleInput } from './settle.ts';
import type { ToSystemMessage } from './system-message.ts';
import type {
  AgentCall,
  Middleware,
  OuterStep,
  Reply,
  RequestDraft,
  Round,
  RunCall,
  SettledInput,
  Step,
} from './middleware.ts';
import type { CallInput } from '../event/call-input.ts';
import type { Next } from './next.ts';
import { runOf } from './run-context.ts';

/** What all runs of an agent share. */
export interface AgentParts {
  readonly name: string;
  readonly sessionId: string;
  readonly options: AgentSettings;
  readonly memory: Memory;
  readonly tools: ToolSet;
  readonly generateId: () => string;
  readonly now: () => number;
  readonly status: AgentStatus;
  /** The agent's own system prompt. */
  readonly systemMessage: Msg | undefined;
  readonly toSystemMessage: ToSystemMessage;
  /**
   * Writes of earlier agent calls that the store has not finished. The next agent call waits for
   * them.
   */
  readonly unwritten: Set<Promise<unknown>>;
}

/** The parts of an agent with its steps, each inside the wrappers of all middleware. */
export interface RunSetup extends AgentParts {
  /** All middleware in one flat list, without replaced middleware. */
  readonly use: readonly Middleware[];
  /** The middleware with `mapEvent`. */
  readonly mappers: readonly Middleware[];
  /** The model inside the wrappers of all middleware. */
  readonly model: ChatModel;
  readonly runLoop: AgentCall;
  readonly admit: Step<CallInput, CallInput>;
  readonly settle: Step<SettledInput, Next>;
  readonly makeRequest: Step<RequestDraft, ModelRequest | Next>;
  readonly takeReply: Step<Reply, Next>;
  readonly runRound: Step<Round, Next>;
  readonly runTool: RunCall;
}

/**
 * Wraps the steps of the loop in the middleware. The first middleware is the outermost wrapper.
 * Throws `CONFIGURATION` if a wrapper does not return the kind of value that it wraps.
 */
export function runSetup(parts: AgentParts, use: readonly Middleware[]): RunSetup {
  const { now, options } = parts;
  const { model, limits } = options;
  const bounds = { now, ...limits };
  const bounded = boundedModel(model, bounds);
  const wrappedModel = wrapped(use, 'wrapModel', bounded, (made: ChatModel) => boundedModel(made));
  return {
    ...parts,
    use,
    mappers: use.filter(({ mapEvent }) => mapEvent),
    // Replies are measured inside the wrappers, because one may collect a whole reply. They are
    // also measured outside, because one may use other models.
    model: wrappedModel === bounded ? bounded : boundedModel(wrappedModel, bounds),
    runLoop: wrapped(use, 'wrapRun', step(runLoop), boundedCall),
    admit: wrapped(use, 'wrapInput', async (input) => input, boundedInput),
    settle: wrappedStep(use, 'wrapSettle', settleInput),
    makeRequest: wrappedStep(use, 'wrapRequest', makeRequest),
    takeReply: wrappedStep(use, 'wrapReply', takeReply),
    runRound: wrappedStep(use, 'wrapRound', runRound),
    runTool: wrapped(use, 'wrapTool', runCall, boundedTool),
  };
}

const runLoop: AgentCall = (input, context) => loop(runOf(context), input);

type WrapperName = keyof Middleware & `wrap${string}`;

/** Wraps a step of the loop. */
function wrappedStep<Given, Made>(
  use: readonly Middleware[],
  key: WrapperName,
  inner: Step<Given, Made>,
): Step<Given, Made> {
  const isWrapped = use.some((part) => part[key]);
  return wrapped(use, key, isWrapped ? step(inner) : inner, (made: OuterStep<Given, Made>) =>
    boundedStep(key, made),
  );
}

/** Returns a step of the loop. The wrappers around it wait for its end. */
function step<Given, Made>(inner: Step<Given, Made>): Step<Given, Made> {
  return (given, context) => runOf(context).waits.step(() => inner(given, context));
}

/**
 * Wraps one part in the middleware. `bound` bounds each wrapper: if it hangs after an abort, the
 * outer wrappers still end and can release their resources.
 */
function wrapped<Inner, Outer>(
  use: readonly Middleware[],
  key: WrapperName,
  inner: Inner,
  bound: (made: Outer) => Inner,
): Inner {
  const kind = typeof inner === 'function' ? 'function' : 'stream()';
  return use.reduceRight((next, part) => {
    const wrap = part[key] as ((next: Inner) => Outer) | undefined;
    if (!wrap) return next;
    const result = wrap.call(part, next);
    checkFields('CONFIGURATION', `${key}()`, { result }, `result:${kind}`);
    return bound(result);
  }, inner);
}

function boundedStep<Given, Made>(
  key: WrapperName,
  outer: OuterStep<Given, Made>,
): Step<Given, Made> {
  return async (given, context) => {
    const run = runOf(context);
    const made = await run.waits.wrapper(() => outer(given, context, run.steps));
    checkMade(key, made);
    return made;
  };
}

/** Throws `CONFIGURATION` unless a wrapper made what its step makes. */
function checkMade(key: WrapperName, made: unknown): void {
  checkFields('CONFIGURATION', `${key}()`, { result: made }, 'result:object');
  const { to, reason } = made as Partial<Record<'to' | 'reason', unknown>>;
  let fields = to === undefined ? 'reason:string' : 'to:model|tools';
  if (key === 'wrapInput') fields = 'messages,decisions:array';
  else if (key === 'wrapRequest' && to === undefined && reason === undefined)
    fields = 'messages,tools:array';
  checkFields('CONFIGURATION', `The result of ${key}()`, made, fields);
}

/** Bounds a wrapper of the input. Nothing is stored if the run was aborted meanwhile. */
function boundedInput(outer: OuterStep<CallInput, CallInput>): Step<CallInput, CallInput> {
  const admit = boundedStep('wrapInput', outer);
  return async (given, context) => {
    const input = await admit(given, context);
    runOf(context).signal.throwIfAborted();
    return input;
  };
}

function boundedTool(made: RunCall): RunCall {
  return async (call, options) => {
    const { waits, setup } = runOf(options.run);
    const { toolUse } = call;
    try {
      const outcome = await waits.code(made(call, options));
      return isSuspension(outcome) || isNotStarted(outcome)
        ? outcome
        : wrappedResult(toolUse, outcome);
    } catch (error) {
      if (!waits.isAbort(error)) throw error;
      const hasStarted = setup.status.calls.get(toolUse.id)?.started;
      return hasStarted ? interruptedResult(toolUse) : notStarted;
    }
  };
}
