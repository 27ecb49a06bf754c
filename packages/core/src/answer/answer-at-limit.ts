import type { Middleware } from '../agent/middleware.ts';
import { isEnding, type Next } from '../agent/next.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { AgentEventBase, EventOf } from '../event/agent-event.ts';
import type { ReplyPiece } from '../model/reply/reply-assembler.ts';
import type { ReachedLimit, OnLimit } from './on-limit.ts';
import { onLimitOf } from './summarize.ts';

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
  checkOptions('answerAtLimit()', options, answerAtLimitOptions);
  return {
    name: 'answerAtLimit',
    wrapRequest: async (draft, next, run) => {
      const outcome = await next(draft);
      if (!isEnding(outcome) || outcome.kind !== 'limit') return outcome;
      const { reason, draft: refused } = outcome;
      const answer = options.answer ?? onLimitOf(run);
      let hookEnding: Next | undefined;
      const limit: ReachedLimit = {
        refused,
        async ask(messages, adapt = (request) => request) {
          const { event, next: ending } = await run.events.revise('pre-summary', { messages });
          hookEnding = ending;
          if (ending) return { type: 'incomplete' };
          const { toolChoice: _toolChoice, ...generate } = run.options.generate;
          const request = { ...generate, messages: event.messages, tools: [], isFinal: true };
          return run.model.ask(adapt(request), toSummaryChunk);
        },
      };
      const reply = await run.wait.for(answer(limit, run));
      if (hookEnding) return hookEnding;
      if (reply.type === 'complete') {
        const { type: _type, ...ending } = reply;
        return { kind: 'answer', reason, ...ending };
      }
      return run.ending.whenStopped(reply.message);
    },
  };
}

const answerAtLimitOptions: OptionTable<AnswerAtLimitOptions> = { answer: optional(func) };

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
