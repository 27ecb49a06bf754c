import type { Middleware, OpenCall } from '../../agent/middleware.ts';
import { checkOptions } from '../../error/agent-error.ts';
import { toolResultsOf, type ToolResult, type ToolUse } from '../../message/msg.ts';
import { decidedResult, interruptedResult, mayHaveStarted } from '../../tool/tool-call.ts';

/** The text that the model reads as the result of a closed tool call. */
export interface CloseOpenCallsOptions {
  /**
   * Returns the text of the result that the model gets. If `started` is true, the tool may have had
   * effects. Default: says that another message arrived first.
   */
  readonly text?: (toolUse: ToolUse, progress: { readonly started: boolean }) => string;
}

/**
 * Accepts new messages while tool calls have no result yet. Each such tool call gets an
 * `interrupted` result with a text for the model. One that a person rejected, or whose result a
 * person gave, gets this result instead. Without this middleware, the agent call fails
 * with `PENDING_TOOL_CALLS`. Decisions, results and an agent call without input continue the tool
 * calls as usual. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function closeOpenCalls(options: CloseOpenCallsOptions = {}): Middleware {
  checkOptions('closeOpenCalls()', options, 'text:function|?');
  const { text = defaultText } = options;
  return {
    name: 'closeOpenCalls',
    wrapSettle: (next) => async (input, context, steps) => {
      // `approvals()` inside this middleware makes decisions of results in messages.
      const decisions = [...input.decisions, ...input.messages.flatMap(toolResultsOf)];
      const decidedIds = new Set(decisions.map(({ toolUseId }) => toolUseId));
      const hasNewMessage = input.messages.some(({ role }) => role !== 'tool');
      for (const call of hasNewMessage ? context.openCalls : []) {
        const { toolUse } = call;
        if (decidedIds.has(toolUse.id)) continue;
        const ownResult = decidedResult(toolUse, call.state, context.tools);
        await steps.closeCall(toolUse, ownResult ?? closedResult(call, text));
      }
      return next(input);
    },
  };
}

function closedResult(
  { toolUse, state, isNoted }: OpenCall,
  text: NonNullable<CloseOpenCallsOptions['text']>,
): ToolResult {
  const notedState = isNoted ? state : undefined;
  // A result without a text could not be read again.
  const output = String(text(toolUse, { started: mayHaveStarted(notedState) }));
  return { ...interruptedResult(toolUse, notedState), output };
}

function defaultText({ name }: ToolUse, { started }: { readonly started: boolean }): string {
  const effect = started ? 'It may have had effects.' : 'It did not run.';
  return `The call of "${name}" was canceled: another message came in before it had ended. ${effect}`;
}
