import { checkFields } from '../error/check-fields.ts';
import { toolUsesOf } from '../message/message-text.ts';
import { outputToolName } from '../tool/output-tool.ts';
import { CallLimit, lastPriority, type CallLimitOptions } from './call-limit.ts';
import type { Extension } from './extension.ts';

export interface ToolCallLimitOptions extends CallLimitOptions {
  /** The one tool whose calls count; default: those of all tools. */
  readonly tool?: string;
}

/**
 * Bounds the tool calls of a run, of a session, or of both (Spring AI Alibaba: `ToolCallLimitHook`), kept with the session's state. A reply
 * whose calls would be too many runs none of them: they are closed as `interrupted`. (To have the model answer from what it has instead, use
 * `limits.toolCalls`.) A call counts once, when it is about to run; what `structured()` asks for is no such call. Throws `CONFIGURATION` without a limit.
 */
export function toolCallLimit(options: ToolCallLimitOptions): Extension {
  checkFields('CONFIGURATION', 'toolCallLimit()', options, 'tool:string|?');
  const { tool } = options;
  const what = tool === undefined ? 'tool calls' : `calls of "${tool}"`;
  const limit = new CallLimit('toolCallLimit()', tool === undefined ? 'toolCalls' : `toolCalls:${tool}`, what, options);
  const counts = ({ name }: { readonly name: string }): boolean => (tool === undefined ? name !== outputToolName : name === tool);
  return {
    wrapCall: limit.state.wrapCall!,
    hooks: [
      {
        name: 'toolCallLimit',
        // What other hooks make of a reply, or of a call, is what counts.
        priority: lastPriority,
        on: {
          'run-start': (event) => limit.begin(event),
          'post-reasoning': (event, control) =>
            limit.check(event, control, toolUsesOf(event.message).filter(counts).length, `${event.runId}:${event.seq}`),
          'pre-acting': (event) => void (counts(event.toolUse) && limit.add(event, event.toolUse.id)),
        },
      },
    ],
  };
}
