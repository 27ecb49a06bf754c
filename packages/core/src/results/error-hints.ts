import { checkNoOptions } from '../error/options/check-options.ts';
import { isReply } from '../message/metadata.ts';
import {
  outputText,
  toolResultsOf,
  toolUsesOf,
  type ToolResult,
  type Msg,
} from '../message/msg.ts';
import type { Middleware, Reply } from '../agent/middleware.ts';
import { isEnding, isNewAnswer, type AnswerEnd } from '../agent/next.ts';
import { perRun } from '../agent/per-run.ts';

/**
 * Adds a hint for the model about the newest tool results. If a tool call failed, the hint asks for
 * a corrected tool call. If the model replies with text instead, the text is withdrawn and the next
 * hint is stricter. This happens at most twice in a run. If a limit allows no further request, the
 * withdrawn text is the answer. If a result has no entries, the hint asks for a search with other
 * words. Hints are part of one model request and are never stored. Source: Arc Reactor 6.
 */
export function errorHints(): Middleware;
export function errorHints(...args: readonly unknown[]): Middleware {
  checkNoOptions('errorHints()', args, 'For texts of your own, use rewordToolErrors().');
  const hintingOf = perRun((): Hinting => ({ withdrawnCount: 0, withdrawn: undefined }));
  return {
    name: 'errorHints',
    wrapRequest: async (draft, next, run) => {
      const hinting = hintingOf(run);
      const { withdrawn } = hinting;
      hinting.withdrawn = undefined;
      if (draft.limit) return withdrawn ?? next(draft);
      const hint = hintFor(newestResults(run.messages), withdrawn !== undefined);
      if (hint === undefined || !draft.tools.length) return next(draft);
      const messages = [...draft.messages, run.createMessage('user', hint)];
      const outcome = await next({ ...draft, messages });
      const isLimit = isEnding(outcome) && outcome.reason === 'limit';
      return (isLimit && withdrawn) || outcome;
    },
    wrapReply: async (reply, next, run) => {
      const outcome = await next(reply);
      const hinting = hintingOf(run);
      if (!isNewAnswer(outcome) || !mayCallTools(reply)) return outcome;
      const hasFailed = newestResults(run.messages).some(hasError);
      if (!hasFailed || hinting.withdrawnCount >= maxWithdrawnReplies) return outcome;
      hinting.withdrawn = outcome;
      hinting.withdrawnCount += 1;
      await run.events.emit('step-reset', { reason: 'error-hints' });
      return { to: 'model', mustAsk: true };
    },
  };
}

/** The replies of one run that answered with text after a failed tool call. */
interface Hinting {
  withdrawnCount: number;
  /** The newest one, until the next request. It is the answer if a limit refuses that request. */
  withdrawn: AnswerEnd | undefined;
}

const maxWithdrawnReplies = 2;

/** Returns whether a reply could have called tools, but did not, and may be withdrawn. */
function mayCallTools({ message, request, isFinal }: Reply): boolean {
  const hasTools = request !== undefined && request.tools.length > 0;
  return hasTools && !isFinal && !toolUsesOf(message).length;
}

/**
 * Returns the tool results after the model's last message. Returns an empty list if a user's
 * message follows that message.
 */
function newestResults(messages: readonly Msg[]): readonly ToolResult[] {
  const lastReplyIndex = messages.findLastIndex(isReply);
  const rest = messages.slice(lastReplyIndex + 1);
  return rest.some(({ role }) => role === 'user') ? [] : rest.flatMap(toolResultsOf);
}

/** `isForced`: the model has answered with text, although a tool call had failed. */
function hintFor(results: readonly ToolResult[], isForced: boolean): string | undefined {
  if (results.some(hasError))
    return isForced
      ? 'Do not answer yet. Call the tool again, with corrected arguments.'
      : 'A tool call failed. Read its error, correct the arguments, and call the tool again.';
  if (results.some(isEmpty))
    return 'A search found nothing. Try again with other words before you answer.';
  return undefined;
}

function hasError({ state, output }: ToolResult): boolean {
  return state === 'error' || outputText(output).startsWith('Error:');
}

const noEntries = [
  /"(totalSize|total|count|size)"\s*:\s*0(?![\d.])/,
  /"(results|issues|items|pages|values)"\s*:\s*\[\s*\]/,
  /^\s*\[\s*\]\s*$/,
];

function isEmpty({ state, output }: ToolResult): boolean {
  const text = outputText(output);
  return state === 'success' && noEntries.some((pattern) => pattern.test(text));
}
