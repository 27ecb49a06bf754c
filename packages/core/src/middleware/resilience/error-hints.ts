import type { EventOf } from '../../event/agent-event.ts';
import type { ControlOf } from '../../event/hook.ts';
import type { ToolResult } from '../../message/content-block.ts';
import { userMessage } from '../../message/create-message.ts';
import { asOwn } from '../../message/metadata-keys.ts';
import { outputText, toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';

interface Hinting {
  /**
   * Number of replies in this run that were refused because they answered with text after a failed
   * tool call.
   */
  refused: number;
  isForced: boolean;
}

/**
 * Adds a hint for the model about the newest tool results (Arc Reactor 6). If a tool call failed,
 * the hint asks for a corrected tool call. If the model replies with text instead, the text is
 * withdrawn and the next hint is stricter. This happens at most twice in a run. If a result has no
 * entries, the hint asks for a search with other words. Hints are part of one model request and are
 * never stored.
 */
export function errorHints(): Middleware {
  const hintingOf = perRun((): Hinting => ({ refused: 0, isForced: false }));
  return {
    name: 'errorHints',
    onError: 'fail',
    on: {
      'pre-reasoning'(event, _control, context) {
        if (!event.tools.length) return;
        const { isForced } = hintingOf(context);
        const hint = hintFor(newestResults(context.messages), isForced);
        if (hint === undefined) return;
        const about = { id: `${event.runId}:hint:${event.iteration}`, now: () => event.at };
        return { ...event, messages: [...event.messages, asOwn(userMessage(hint, about))] };
      },
      'post-reasoning': {
        // Runs after other hooks, so that it checks the reply that they return.
        priority: 10_000,
        handle: (event, control, context) =>
          refuseText(hintingOf(context), event, control, context),
      },
    },
  };
}

const mostRefused = 2;

function refuseText(
  hinting: Hinting,
  event: EventOf<'post-reasoning'>,
  control: ControlOf<'post-reasoning'>,
  { messages, toolSchemas }: RunContext,
): EventOf<'post-reasoning'> | undefined {
  const { message } = event;
  const hasFailed = newestResults(messages).some(isError);
  hinting.isForced =
    hasFailed &&
    toolSchemas.length > 0 &&
    !toolUsesOf(message).length &&
    hinting.refused < mostRefused;
  if (!hinting.isForced) return undefined;
  hinting.refused += 1;
  control.gotoReasoning([]);
  return { ...event, message: { ...message, content: [] } };
}

/**
 * Returns the tool results after the model's last message. Returns an empty list if a user's
 * message follows that message.
 */
function newestResults(messages: readonly Msg[]): readonly ToolResult[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const after = messages.slice(last + 1);
  return after.some(({ role }) => role === 'user') ? [] : after.flatMap(toolResultsOf);
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
