import { checkFields } from '../../error/check-fields.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { Middleware } from '../../loop/use/middleware.ts';

export interface PatchToolCallsOptions {
  /**
   * Returns the text for the model. `started`: the tool may have had effects. Default: says that
   * another message came in first.
   */
  readonly words?: (toolUse: ToolUse, about: { readonly started: boolean }) => string;
}

/**
 * Accepts new messages while tool calls are open. Those calls get an `interrupted` result that says
 * so, instead of the failure `PENDING_TOOL_CALLS`. Decisions, results and a call without input
 * continue the open calls as usual. If `words` throws, the call fails with `HOOK_ERROR`. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function patchToolCalls(options: PatchToolCallsOptions = {}): Middleware {
  checkFields('CONFIGURATION', 'patchToolCalls()', options, 'words:function|?');
  const { words = usual } = options;
  return { name: 'patchToolCalls', closeOpenCall: words };
}

function usual({ name }: ToolUse, { started }: { readonly started: boolean }): string {
  const effect = started ? 'It may have had effects.' : 'It did not run.';
  return `The call of "${name}" was canceled: another message came in before it had ended. ${effect}`;
}
