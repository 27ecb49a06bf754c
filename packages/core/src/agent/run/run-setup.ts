import { checkFields } from '../../error/check-fields.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { AgentStatus } from '../../event/agent-status.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Msg } from '../../message/msg.ts';
import { abortableModel, boundedModel } from '../../model/bounded-model.ts';
import type { ChatModel, ModelRequest } from '../../model/chat-model.ts';
import { runCall } from '../../tool/run-call.ts';
import { isNotStarted, isSuspension, notStarted } from '../../tool/tool-outcome.ts';
import { interruptedResult, wrappedResult } from '../../tool/tool-result.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import { endAborted } from './agent-call.ts';
import type { AgentSettings } from '../kernel-options.ts';
import { loop, runRound, takeReply } from '../loop.ts';
import { makeRequest } from '../step/request.ts';
import { settleInput } from '../step/settle.ts';
import type { ToSystemMessage } from '../../message/system-message.ts';
import type {
  Middleware,
  OuterStep,
  Reply,
  RequestDraft,
  Round,
  RunCall,
  SettledInput,
  Step,
} from '../middleware.ts';
import type { CallInput } from '../../event/call-input.ts';
import type { Next } from '../next.ts';
import { runOf } from '../run-context.ts';
import type { Run } from './run.ts';

/** What all runs of an agent share. */
export interface AgentParts {
  readonly sessionId: string;
  readonly options: AgentSettings;
  readonly memory: Memory;
  /** The agent's copy of the tools in its options, without those of middleware. */
  readonly ownTools: ToolSet;
  readonly tools: ToolSet;
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
  readonly runLoop: Step<CallInput, AgentResult>;
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
  const { model, limits, now } = parts.options;
  const bounded = boundedModel(model, { now, replyLength: limits.replyLength });
  return {
    ...parts,
    use,
    mappers: use.filter(({ mapEvent }) => mapEvent),
    // Replies are measured inside the wrappers, because one may collect a whole reply.
    model: wrapped(use, 'wrapModel', bounded, abortableModel),
    runLoop: wrappedStep(use, 'wrapRun', loop),
    admit: wrappedStep(use, 'wrapInput', async (_run, input: CallInput) => input),
    settle: wrappedStep(use, 'wrapSettle', settleInput),
    makeRequest: wrappedStep(use, 'wrapRequest', makeRequest),
    takeReply: wrappedStep(use, 'wrapReply', takeReply),
    runRound: wrappedStep(use, 'wrapRound', runRound),
    runTool: wrapped(use, 'wrapTool', runCall, boundedTool),
  };
}

type WrapperName = keyof Middleware & `wrap${string}`;

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
    checkFields(`${key}()`, { result }, `result:${kind}`);
    return bound(result);
  }, inner);
}

/** Wraps a step of the loop. The wrappers wait for its end. */
function wrappedStep<Given, Made>(
  use: readonly Middleware[],
  key: WrapperName,
  inner: (run: Run, given: Given) => Promise<Made>,
): Step<Given, Made> {
  const isWrapped = use.some((part) => part[key]);
  const step: Step<Given, Made> = (given, context) => {
    const run = runOf(context);
    return isWrapped ? run.waits.inner(() => inner(run.alive(), given)) : inner(run, given);
  };
  return wrapped(use, key, step, (outer: OuterStep<Given, Made>) => (given, context) => {
    const run = runOf(context);
    const begin = (): Promise<Made> => outer(given, context, run.alive().steps);
    const made = run.waits.wrapper(begin, (value) => {
      // After an abort, nothing is stored.
      if (key === 'wrapInput') run.signal.throwIfAborted();
      checkMade(key, value);
    });
    if (key !== 'wrapRun') return made;
    return made.catch((thrown: unknown) => endAborted(run, thrown) as Promise<Made>);
  });
}

/** Fields of what a wrapper makes, for `checkFields`. The others make a `Next`. */
const madeFields: { readonly [K in WrapperName]?: string } = {
  wrapRun: 'reason,text:string message:object',
  wrapInput: 'messages,decisions:array',
  wrapRequest: 'messages,tools:array',
};

const endFields = 'kind:answer|stored|told|refused|stopped reason:string';

/** Throws `CONFIGURATION` unless a wrapper made what its step makes. */
function checkMade(key: WrapperName, made: unknown): void {
  const { to, kind } = Object(made) as Partial<Record<'to' | 'kind', unknown>>;
  const next = to === undefined ? endFields : 'to:model|tools';
  const isNext = key === 'wrapRequest' && (to ?? kind) !== undefined;
  const fields = isNext ? next : (madeFields[key] ?? next);
  checkFields(`The result of ${key}()`, made, fields);
}

function boundedTool(made: RunCall): RunCall {
  return async (call, options) => {
    const { waits, status } = runOf(options.run);
    const { toolUse } = call;
    try {
      const outcome = await waits.code(made(call, options));
      return isSuspension(outcome) || isNotStarted(outcome)
        ? outcome
        : wrappedResult(toolUse, outcome);
    } catch (error) {
      if (!waits.isAbort(error)) throw error;
      const hasStarted = status.calls.get(toolUse.id)?.started;
      return hasStarted ? interruptedResult(toolUse) : notStarted;
    }
  };
}
