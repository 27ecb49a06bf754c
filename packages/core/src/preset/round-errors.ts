import { AgentError, messageOf } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { errorResult } from '../tool/tool-result.ts';
import type { Middleware } from '../agent/middleware.ts';

/**
 * Continues after an exception in a later `wrapTool` (AgentScope: `callTools`). The tool call and
 * all tool calls of the same reply that have not started get an error result and do not run. Other
 * tool calls keep their own results. An `AgentError` with code `TOOL_ERROR` still ends the agent
 * call.
 */
export function roundErrors(): Middleware {
  return {
    name: 'roundErrors',
    wrapTool(next) {
      // All tool calls of a reply get the same array of messages.
      const failures = new WeakMap<readonly Msg[], string>();
      return async (call, options) => {
        const { messages, signal } = options;
        const earlier = failures.get(messages);
        if (earlier !== undefined) return errorResult(call.toolUse, earlier);
        try {
          return await next(call, options);
        } catch (error) {
          const isFatal = AgentError.is(error) && error.code === 'TOOL_ERROR';
          if (isFatal || signal.aborted) throw error;
          const failure = `Tool execution failed: ${messageOf(error)}`;
          failures.set(messages, failure);
          return errorResult(call.toolUse, failure);
        }
      };
    },
  };
}
