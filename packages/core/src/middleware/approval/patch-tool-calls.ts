import { checkFields } from '../../error/check-fields.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import { mayHaveStarted } from '../../tool/tool-result.ts';
import type { Extension } from '../../loop/extension.ts';
import { perRun } from '../../loop/per-run.ts';
import type { Run } from '../../loop/run.ts';

export interface PatchToolCallsOptions {
  /**
   * What the model reads. `started`: the tool may have had effects. Default: that another message
   * came in first.
   */
  readonly words?: (toolUse: ToolUse, about: { readonly started: boolean }) => string;
}

/**
 * Takes new messages while tool calls are open: those calls get a result that says so, state
 * `interrupted`, in place of the failure `PENDING_TOOL_CALLS` (as `pendingToolRecovery: true`, with
 * words of its own). Decisions, results and a call without input go on with the calls as ever.
 * `words` that throw fail the call, with `HOOK_ERROR`. Throws `CONFIGURATION` for an option of the
 * wrong kind.
 */
export function patchToolCalls(options: PatchToolCallsOptions = {}): Extension {
  checkFields('CONFIGURATION', 'patchToolCalls()', options, 'words:function|?');
  const { words = usual } = options;
  const runs = perRun((run, input): Patching => {
    run.setup = { ...run.setup, options: { ...run.setup.options, pendingToolRecovery: true } };
    return { run, decides: Boolean(input?.decisions.length) };
  });
  return {
    wrapCall: runs.wrapCall,
    hooks: [
      {
        name: 'patch-tool-calls',
        // After those that change the input: whether there is one decides.
        priority: 10_000,
        on: {
          'pre-call': ({ runId, input }) => {
            const patching = runs.get(runId);
            if (
              !patching ||
              patching.decides ||
              !input.some((message) => !toolResultsOf(message).length)
            )
              return;
            const { run } = patching;
            const { calls } = run.setup.status;
            patching.cancelled = new Map(
              run.openCalls().map(({ id }) => [id, mayHaveStarted(calls.get(id))]),
            );
          },
          'post-acting': (event): EventOf<'post-acting'> | undefined => {
            const { toolUse, result } = event;
            const started = runs.get(event.runId)?.cancelled?.get(toolUse.id);
            if (started === undefined || result.state !== 'interrupted') return undefined;
            return { ...event, result: { ...result, output: words(toolUse, { started }) } };
          },
        },
      },
    ],
  };
}

interface Patching {
  readonly run: Run;
  readonly decides: boolean;
  /** Whether they may have had effects, by id. */
  cancelled?: ReadonlyMap<string, boolean>;
}

function usual({ name }: ToolUse, { started }: { readonly started: boolean }): string {
  const effect = started ? 'It may have had effects.' : 'It did not run.';
  return `The call of "${name}" was cancelled: another message came in before it had ended. ${effect}`;
}
