import { checkFields } from '../../error/check-fields.ts';
import type { EventOf } from '../../event/agent-event.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import { outputToolName } from '../../output/output-tool.ts';
import { CallLimit, lastPriority, type CallLimitOptions } from './call-limit.ts';
import type { Extension } from '../../loop/extension.ts';
import { perRun } from '../../loop/per-run.ts';

export interface ToolCallLimitOptions extends CallLimitOptions {
  /** The one tool whose calls count; default: those of all tools. */
  readonly tool?: string;
}

/**
 * Bounds the tool calls of a run, of a session, or of both (Spring AI Alibaba:
 * `ToolCallLimitHook`), kept with the session's state. A reply whose calls would be too many runs
 * none of them: they are closed as `interrupted`, with words that say so. (To have the model answer
 * from what it has instead, use `limits.toolCalls`.) A call counts once, when it is about to run;
 * what `structured()` asks for is no such call. Throws `CONFIGURATION` without a limit.
 */
export function toolCallLimit(options: ToolCallLimitOptions): Extension {
  checkFields('CONFIGURATION', 'toolCallLimit()', options, 'tool:string|?');
  const { tool } = options;
  const what = tool === undefined ? 'tool calls' : `calls of "${tool}"`;
  const limit = new CallLimit(
    'toolCallLimit()',
    tool === undefined ? 'toolCalls' : `toolCalls:${tool}`,
    what,
    options,
  );
  const counts = ({ name }: { readonly name: string }): boolean =>
    tool === undefined ? name !== outputToolName : name === tool;
  const runs = perRun(
    (): { refused?: { readonly words: string; readonly ids: readonly string[] } } => ({}),
  );
  return {
    wrapCall: (next) => limit.state.wrapCall!(runs.wrapCall(next)),
    hooks: [
      {
        name: 'toolCallLimit',
        // What other hooks make of a reply, or of a call, is what counts.
        priority: lastPriority,
        on: {
          'run-start': (event) => limit.begin(event),
          'post-reasoning': (event, control) => {
            const calls = toolUsesOf(event.message);
            const words = limit.check(
              event,
              control,
              calls.filter(counts).length,
              `${event.runId}:${event.seq}`,
            );
            const run = runs.get(event.runId);
            if (run && words !== undefined) run.refused = { words, ids: calls.map(({ id }) => id) };
          },
          'pre-acting': (event) =>
            void (counts(event.toolUse) && limit.add(event, event.toolUse.id)),
          'post-acting': (event): EventOf<'post-acting'> | undefined => {
            const { words, ids } = runs.get(event.runId)?.refused ?? {};
            if (event.result.state !== 'interrupted' || !ids?.includes(event.toolUse.id))
              return undefined;
            return { ...event, result: { ...event.result, output: `It did not run. ${words}` } };
          },
        },
      },
    ],
  };
}
