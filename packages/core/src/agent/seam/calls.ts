import type { OpenCall } from '../../event/agent-status.ts';
import type { LogNote } from '../../memory/log/log-record.ts';
import type { ToolResult, ToolUse } from '../../message/msg.ts';
import { wrappedResult } from '../../tool/tool-call.ts';
import type { LiveRun } from '../run/live-run.ts';
import { closeCall } from '../step/close-calls.ts';
import { logStep } from './step.ts';

/** The open tool calls of a run. */
export interface RunCalls {
  /**
   * Tool calls without a result, in the order of the calls. Each has its `state`: whether its tool
   * has started, what it waits for, and the decision about it. Each use makes a new list, so a loop
   * over tool calls should use it once. Works everywhere.
   */
  readonly open: readonly OpenCall[];
  /**
   * Ends an open tool call with this result, after the `post-acting` hooks. A call that has a
   * result keeps it. Works in wrappers, hooks and tools, from `next` of `wrapSettle` on.
   */
  close(toolUse: ToolUse, result: ToolResult): Promise<void>;
  /**
   * Adds notes about tool calls to the log, such as a decision. With `write`, stores them before it
   * resolves. Works in wrappers, hooks and tools, from `wrapSettle` on.
   */
  note(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void>;
}

/** Returns the tool calls of a run. */
export function callsOf(run: LiveRun): RunCalls {
  return {
    get open() {
      return run.calls.open;
    },
    close: (toolUse, result) =>
      logStep(run, () => closeCall(run, toolUse, wrappedResult(toolUse, result))),
    note: (notes, options) => logStep(run, () => run.log.note(notes, options)),
  };
}
