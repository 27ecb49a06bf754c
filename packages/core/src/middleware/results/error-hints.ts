import { isReply } from '../../message/metadata.ts';
import {
  outputText,
  toolResultsOf,
  toolUsesOf,
  type ToolResult,
  type Msg,
} from '../../message/msg.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { isNewAnswer } from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';

/**
 * Adds a hint for the model about the newest tool results (Arc Reactor 6). If a tool call failed,
 * the hint asks for a corrected tool call. If the model replies with text instead, the text is
 * withdrawn and the next hint is stricter. This happens at most twice in a run. If a result has no
 * entries, the hint asks for a search with other words. Hints are part of one model request and are
 * never stored.
 */
export function errorHints(): Middleware {
  /** `refusedCount`: number of replies that answered with text after a failed tool call. */
  const hintingOf = perRun(() => ({ refusedCount: 0, isForced: false }));
  return {
    name: 'errorHints',
    wrapRequest: (next) => (draft, context, steps) => {
      if (draft.limit || !draft.tools.length) return next(draft);
      const hint = hintFor(newestResults(context.messages), hintingOf(context).isForced);
      if (hint === undefined) return next(draft);
      return next({ ...draft, messages: [...draft.messages, steps.message('user', hint)] });
    },
    wrapReply: (next) => async (reply, context, steps) => {
      const outcome = await next(reply);
      const hinting = hintingOf(context);
      hinting.isForced =
        isNewAnswer(outcome) &&
        !toolUsesOf(reply.message).length &&
        context.toolSchemas.length > 0 &&
        hinting.refusedCount < maxRefusedReplies &&
        newestResults(context.messages).some(isError);
      if (!hinting.isForced) return outcome;
      hinting.refusedCount += 1;
      await steps.emit('step-reset', { reason: 'error-hints' });
      return { to: 'model', mustAsk: true };
    },
  };
}

const maxRefusedReplies = 2;

/**
 * Returns the tool results after the model's last message. Returns an empty list if a user's
 * message follows that message.
 */
function newestResults(messages: readonly Msg[]): readonly ToolResult[] {
  const lastReplyIndex = messages.findLastIndex(isReply);
  const rest = messages.slice(lastReplyIndex + 1);
  return rest.some(({ role }) => role === 'user') ? [] : rest.flatMap(toolResultsOf);
}

function hintFor(results: readonly ToolResult[], isForced: boolean): string | undefined {
  if (isForced) return 'Do not answer yet. Call the tool again, with corrected arguments.';
  if (results.some(isError))
    return 'A tool call failed. Read its error, correct the arguments, and call the tool again.';
  if (results.some(isEmpty))
    return 'A search found nothing. Try again with other words before you answer.';
  return undefined;
}

function isError({ state, output }: ToolResult): boolean {
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
