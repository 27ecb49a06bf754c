import type { Middleware, OpenCall } from '../agent/middleware.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { Awaitable } from '../event/hook.ts';
import { toolResultsOf, type ToolResult, type ToolUse } from '../message/msg.ts';
import { interruptedResult, mayHaveStarted } from '../tool/tool-call.ts';

/** The text that the model reads as the result of a closed tool call. */
export interface CloseOpenCallsOptions {
  /**
   * Returns the text of the result that the model gets. If `started` is true, the tool may have had
   * effects. Default, also for an empty text: says that another message arrived first.
   */
  readonly text?: (toolUse: ToolUse, progress: { readonly started: boolean }) => Awaitable<string>;
}

/**
 * Accepts new messages while tool calls have no result yet. Each such tool call gets an
 * `interrupted` result with a text for the model. One that a person rejected, or whose result a
 * person gave, gets this result instead. An approved one that has not run is closed, too. Without
 * this middleware, the agent call fails with `PENDING_TOOL_CALLS`. Decisions, results and an agent
 * call without input continue the tool calls as usual. Throws `CONFIGURATION` for an option of the
 * wrong kind.
 */
export function closeOpenCalls(options: CloseOpenCallsOptions = {}): Middleware {
  checkOptions('closeOpenCalls()', options, closeOpenCallsOptions);
  const { text = defaultText } = options;
  return {
    name: 'closeOpenCalls',
    wrapSettle: async (input, next, run) => {
      // `approvals()` inside this middleware makes decisions of results in messages.
      const sent = [...input.decisions, ...input.messages.flatMap(toolResultsOf)];
      const decidedIds = new Set(sent.map(({ toolUseId }) => toolUseId));
      const hasNewMessage = input.messages.some(({ role }) => role !== 'tool');
      const openCalls = hasNewMessage ? run.calls.open : [];
      const closes = await Promise.all(
        openCalls
          .filter(({ toolUse }) => !decidedIds.has(toolUse.id))
          .map(async (call) => ({
            toolUse: call.toolUse,
            result: await closedResult(call, text),
          })),
      );
      if (!closes.length) return next(input);
      return next({ ...input, closes: [...(input.closes ?? []), ...closes] });
    },
  };
}

const closeOpenCallsOptions: OptionTable<CloseOpenCallsOptions> = { text: optional(func) };

/** Returns what a person has decided, or else a result that says why the call is closed. */
async function closedResult(
  { toolUse, state, isNoted, result }: OpenCall,
  text: NonNullable<CloseOpenCallsOptions['text']>,
): Promise<ToolResult> {
  if (result) return result;
  const notedState = isNoted ? state : undefined;
  const progress = { started: mayHaveStarted(notedState) };
  const ownText: unknown = await text(toolUse, progress);
  const hasText = typeof ownText === 'string' && ownText !== '';
  const output = hasText ? ownText : defaultText(toolUse, progress);
  return { ...interruptedResult(toolUse, notedState), output };
}

function defaultText({ name }: ToolUse, { started }: { readonly started: boolean }): string {
  const effect = started ? 'It may have had effects.' : 'It did not run.';
  return `The call of "${name}" was canceled: another message came in before it had ended. ${effect}`;
}
