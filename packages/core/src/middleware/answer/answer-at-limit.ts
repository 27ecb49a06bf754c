import type { Middleware, RequestDraft, RunContext, Steps } from '../../agent/middleware.ts';
import { isEnding, type Next } from '../../agent/next.ts';
import type { AskResult } from '../../agent/step/read-reply.ts';
import {
  AgentError,
  checkOptions,
  type AgentErrorCode,
  type AgentErrorData,
} from '../../error/agent-error.ts';
import { maskSecrets } from '../../error/mask-secrets.ts';
import type { AgentEventBase, EventOf } from '../../event/agent-event.ts';
import { friendlyText, type FriendlyText } from '../../event/agent-result.ts';
import { textOf, type Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { ReplyPiece } from '../../model/reply-assembler.ts';

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    /**
     * Function that gives the answer at the limit of iterations or tokens.
     * @default summarize()
     */
    readonly onLimit?: OnLimit;
  }
}

/**
 * The last reply of an agent call that reached a limit. `incomplete`: an interrupt or abort ended
 * it; `message` is the part that readers have, if any. `output` is the typed value, and `error`
 * says why the model did not write the answer. Both become part of the result.
 */
export type LimitReply =
  | {
      readonly type: 'complete';
      readonly message: Msg;
      readonly output?: unknown;
      readonly error?: AgentErrorData;
    }
  | { readonly type: 'incomplete'; readonly message?: Msg | undefined };

type CompleteReply = Extract<LimitReply, { readonly type: 'complete' }>;

/** What a function at a limit may do to the run. */
export interface LimitSteps extends Omit<Steps, 'ask'> {
  /** Messages of the request that the limit refused, fitted to the model's context window. */
  readonly refused: RequestDraft;
  /**
   * Sends one extra model request without tools, after the `pre-summary` hooks. The request does
   * not count as an iteration, and its messages are not stored. `adapt` changes the request after
   * the hooks.
   */
  ask(
    messages: readonly Msg[],
    adapt?: (request: ModelRequest) => ModelRequest,
  ): Promise<AskResult>;
}

/**
 * Function that returns the last reply of an agent call at its limit of iterations or tokens. All
 * tool calls have results before the loop calls it.
 */
export type OnLimit = (context: RunContext, steps: LimitSteps) => Promise<LimitReply>;

/** How `answerAtLimit()` gets its answer. */
export interface AnswerAtLimitOptions {
  /** Function that gives the answer. Default: the agent's `onLimit`, or else `summarize()`. */
  readonly answer?: OnLimit;
}

/**
 * Gives a last answer at the limit of iterations or tokens. `ReActAgent` has this middleware, and a
 * later one takes its place. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function answerAtLimit(options: AnswerAtLimitOptions = {}): Middleware {
  checkOptions('answerAtLimit()', options, 'answer:function|?');
  return {
    name: 'answerAtLimit',
    wrapRequest: (next) => async (draft, context, steps) => {
      const outcome = await next(draft);
      if (!isEnding(outcome) || outcome.kind !== 'limit') return outcome;
      const { reason, draft: refused } = outcome;
      const answer = options.answer ?? onLimitOf(context);
      let hookEnding: Next | undefined;
      const limitSteps: LimitSteps = {
        ...steps,
        refused,
        async ask(messages, adapt = (request) => request) {
          const { event, next: ending } = await steps.revise('pre-summary', { messages });
          hookEnding = ending;
          if (ending) return { type: 'incomplete' };
          const { toolChoice: _toolChoice, ...generate } = context.options.generate;
          const request = { ...generate, messages: event.messages, tools: [], isFinal: true };
          return steps.ask(adapt(request), toSummaryChunk);
        },
      };
      const reply = await steps.wait(answer(context, limitSteps));
      if (hookEnding) return hookEnding;
      if (reply.type === 'complete') {
        const { type: _type, ...ending } = reply;
        return { kind: 'answer', reason, ...ending };
      }
      return steps.endStopped(reply.message);
    },
  };
}

/** Returns the agent's `onLimit`, or else `summarize()`. */
function onLimitOf({ options }: RunContext): OnLimit {
  return options.onLimit ?? summarize();
}

/** Returns the name of the limit that was reached. */
function limitOf({ iteration, options }: RunContext): string {
  const { iterations, tokens } = options.limits;
  if (iteration >= iterations) return `Maximum iterations (${iterations})`;
  return tokens === undefined ? 'Maximum tokens' : `Maximum tokens (${tokens})`;
}

/**
 * Converts text to a `summary-chunk`. Keeps resets and the provider's tools. Drops everything else,
 * because a summary has only text.
 */
function toSummaryChunk(
  piece: ReplyPiece,
): ReplyPiece | Omit<EventOf<'summary-chunk'>, keyof AgentEventBase> | undefined {
  if (piece.type === 'step-reset' || piece.type === 'hosted-tool-chunk') return piece;
  if (piece.type !== 'reasoning-chunk' || piece.kind !== 'text') return undefined;
  return { type: 'summary-chunk', blockId: piece.blockId, delta: piece.delta };
}

/** How `summarize()` asks the model for its last answer. */
export interface SummarizeOptions {
  /**
   * Prompt of the last model request, sent as a user message and not stored. The default prompt
   * asks for an answer from the findings so far.
   */
  readonly prompt?: string;
  /**
   * Returns the messages to send instead of the conversation and the prompt. They are not stored.
   */
  readonly messages?: (context: RunContext, steps: LimitSteps) => readonly Msg[];
}

/**
 * Returns a function for the option `onLimit`, which asks the model once more, without tools, for
 * an answer from the findings so far (AgentScope: `summarizing`). If the model's reply has no text,
 * the answer is a fixed text that names the limit.
 */
export function summarize(options: SummarizeOptions = {}): OnLimit {
  checkOptions('summarize()', options, 'prompt:string|? messages:function|?');
  const { prompt = 'Your steps are used up. Answer now from what you have found.', messages } =
    options;
  return async (context, steps) => {
    const ownMessages = messages?.(context, steps);
    const defaultMessages = [...steps.refused.messages, steps.message('user', prompt)];
    const reply = await steps.ask(ownMessages ?? defaultMessages);
    if (reply.type === 'incomplete') return reply;
    // Some models call tools that the request did not offer. A last message with open tool calls
    // would make the history invalid.
    const content = reply.message.content.filter((block) => block.type !== 'tool_use');
    const isSaid = content.some((block) => 'source' in block) || textOf(reply.message).trim();
    if (!isSaid)
      return answerWithText(`${limitOf(context)} reached. Unable to generate summary.`, steps);
    return complete({ ...reply.message, content }, steps);
  };
}

/**
 * Returns an answer that the model did not write. Sends a `step-reset` first, because the text that
 * the model streamed is no longer valid.
 */
async function answerWithText(text: string, steps: LimitSteps): Promise<CompleteReply> {
  const message = steps.message('assistant', text);
  await steps.emit('step-reset', { reason: 'no-summary' });
  await steps.emit('summary-chunk', { blockId: `${message.id}:0`, delta: text });
  return complete(message, steps);
}

/** Passes a last reply through the `post-summary` hooks. */
async function complete(message: Msg, steps: LimitSteps): Promise<CompleteReply> {
  const { event } = await steps.revise('post-summary', { message });
  return { type: 'complete', message: event.message };
}

/** The text of `summaryFallback()`. */
export interface SummaryFallbackOptions {
  /**
   * Text of the answer, or a function that returns it for the error. `userErrorText` is such a
   * function. Default: names the limit and quotes the error, with secrets masked.
   */
  readonly text?: FriendlyText;
}

/**
 * Answers with a fixed text if the agent's `onLimit` fails, for example because the model does not
 * reply (AgentScope: `summarizing`). It is an `answerAtLimit()` and takes the place of that of
 * `ReActAgent`. An output mode such as `structured()` brings its own, so use one of the two. The
 * text is stored as the answer, and the result has the error in `error`. An interrupt or abort is
 * no failure. The agent call still fails with the errors of guards, hooks, stores and limits.
 * Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function summaryFallback(options: SummaryFallbackOptions = {}): Middleware {
  checkOptions('summaryFallback()', options, 'text:string|function|?');
  const { text } = options;
  return answerAtLimit({
    async answer(context, steps) {
      try {
        return await onLimitOf(context)(context, steps);
      } catch (thrown) {
        const agentError = AgentError.from(thrown);
        if (context.stopped || notTheModels.includes(agentError.code)) throw thrown;
        const error = { ...agentError.toJSON(), message: maskSecrets(agentError.message) };
        const defaultText = `${limitOf(context)} reached. Error generating summary: ${error.message}`;
        const words = text === undefined ? defaultText : friendlyText(error, text);
        return { ...(await answerWithText(words, steps)), error };
      }
    },
  });
}

/** Codes of failures that the model did not cause. The agent call fails with them. */
const notTheModels: readonly AgentErrorCode[] = [
  'ABORTED',
  'CALL_TIMEOUT',
  'CONFIGURATION',
  'LIMIT_EXCEEDED',
  'GUARD_REJECTED',
  'HOOK_ERROR',
  'HOOK_REJECTED',
  'STORAGE_QUOTA',
  'STORAGE_FAILED',
  'SESSION_STALE',
  'SESSION_CONFLICT',
];
