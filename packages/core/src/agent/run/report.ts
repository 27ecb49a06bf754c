import type { AgentErrorData } from '../../error/agent-error.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { textOf, toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../model/usage.ts';
import type { EndBase } from '../next.ts';
import { pendingCallsOf } from './open-calls.ts';
import type { Run } from './run.ts';

/** What the result of an agent call says about its run, besides its end. */
export interface Report {
  usage: Usage;
  /** Names of the tools that were called, by the id of the tool call. */
  readonly toolsUsed: Map<string, string>;
  /** Errors after which the run continued. */
  readonly warnings: AgentErrorData[];
  /** Message of the result if the agent call fails. */
  failureMessage?: Msg | undefined;
}

/** Returns the result of an agent call that ends in this way. */
export function resultOf(
  run: Run,
  { reason, output, error, stoppedAt }: EndBase,
  message: Msg = run.message('assistant', []),
): AgentResult {
  const { usage, warnings } = run.report;
  return {
    text: textOf(message),
    reason,
    ...(output !== undefined && { output }),
    ...(error && { error }),
    ...(stoppedAt && { stoppedAt }),
    message,
    ...(warnings[0] && { warnings }),
    usage,
    toolsUsed: toolsUsedBy(run),
    durationMs: run.now() - run.startedAt,
    iterations: run.iteration,
    pending: pendingCallsOf(run),
    sessionVersion: run.setup.memory.sessionVersion ?? 0,
  } as AgentResult;
}

/** Returns the names of the used tools, in the order of the calls. */
function toolsUsedBy({ report, messages }: Run): readonly string[] {
  const { toolsUsed } = report;
  if (!toolsUsed.size) return [];
  const names = messages.flatMap(toolUsesOf).map(({ id }) => toolsUsed.get(id));
  return [...new Set(names)].filter((name) => name !== undefined);
}
