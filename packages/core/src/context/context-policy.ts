import type { Middleware, Run } from '../agent/middleware.ts';
import type { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { array, func, nonNegative } from '../error/options/kinds.ts';
import type { FieldTable } from '../error/options/option-table.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, RunInfo, ToolSchema, Usage } from '../model/chat-model.ts';

/**
 * The next model request, before a context policy fits it. An agent sets all optional fields. Other
 * callers may omit them.
 */
export interface ContextRequest {
  /** The system prompt if there is one, then recalled messages, then the conversation. */
  readonly messages: readonly Msg[];
  /**
   * Id of the question: the newest user message. A policy must keep this message. Absent if there
   * is no user message.
   */
  readonly questionId?: string | undefined;
  readonly tools: readonly ToolSchema[];
  /**
   * Number of messages before the conversation, such as the system prompt. A policy must keep these
   * messages. Default: the number of leading system messages.
   */
  readonly fixedCount?: number;
  /**
   * Messages that other middleware adds to the request later, such as the instruction of an output
   * mode. Policies count their tokens but do not return them.
   */
  readonly addedLater?: readonly Msg[];
  /** The model of the next request. */
  readonly model?: ChatModel;
  readonly sessionId?: string;
  /** Run of this request. A policy passes it to its own model requests. */
  readonly run?: RunInfo;
  /** Signal that aborts when the agent call is aborted or interrupted. */
  readonly signal?: AbortSignal;
}

/**
 * Returns the number of messages before the conversation. They are the first `fixedCount` messages
 * of the request and the system messages right after them.
 */
export function headEnd({ messages, fixedCount = 0 }: ContextRequest): number {
  let start = fixedCount;
  while (messages[start]?.role === 'system') start++;
  return Math.min(start, messages.length);
}

/** What a context policy returns: the messages of the request, and how much it left out. */
export interface FittedContext {
  /** The fitted messages. The same array if nothing was removed. */
  readonly messages: readonly Msg[];
  /** Number of removed messages. */
  readonly removed: number;
  /** Estimated tokens of the request before fitting, including system prompt and tools. */
  readonly before: number;
  /** Estimated tokens of the request after fitting, including system prompt and tools. */
  readonly after: number;
  /**
   * The new `fixedCount`, if later policies must keep more messages at the beginning, such as a
   * summary. Default: the `fixedCount` of the request.
   */
  readonly fixedCount?: number;
  /** Usage of the policy's own model requests. It becomes part of the usage of the agent call. */
  readonly usage?: Usage | undefined;
  /** Error that the policy worked around, such as that of a summary. Events and results have it. */
  readonly error?: AgentError | undefined;
}

/** Fits model requests into the context window. `contextPolicy()` makes middleware of it. */
export interface ContextPolicy {
  /**
   * Returns the messages of the request that the model gets. `run`: absent without an agent.
   */
  fit(request: ContextRequest, run?: Run): FittedContext | Promise<FittedContext>;
}

/** Middleware that fits each model request. Example: `fitContext()`. */
export interface ContextMiddleware extends Middleware, ContextPolicy {}

/**
 * Makes middleware of your own rule for what a model request leaves out. Several policies run in
 * list order, each on the result of the policy before it. A policy that left something out, or that
 * failed, emits `context-fitted`. A result that is no `FittedContext` makes the agent call fail
 * with `CONFIGURATION`.
 */
export function contextPolicy<P extends ContextPolicy & Pick<Middleware, 'name'>>(
  policy: P,
): P & ContextMiddleware {
  checkFields('A context policy', policy, { fit: func });
  return {
    ...policy,
    wrapRequest: async (draft, next, run) => {
      const { sessionId, questionId, model, stopSignal: signal } = run;
      const request = { ...draft, sessionId, questionId, model, signal, run };
      const result = await policy.fit(request, run);
      checkFields('The result of a context policy', result, fittedContext);
      const { removed, before, after, messages, fixedCount = draft.fixedCount } = result;
      const error = result.error?.toJSON();
      run.model.addUsage(result.usage);
      if (error) run.ending.addToResult({ warning: error });
      if (removed || before !== after || error)
        await run.events.emit('context-fitted', {
          removed,
          before,
          after,
          ...(error && { error }),
        });
      return next({ ...draft, messages, fixedCount });
    },
  };
}

const fittedContext: FieldTable<FittedContext> = {
  messages: array,
  removed: nonNegative,
  before: nonNegative,
  after: nonNegative,
};
