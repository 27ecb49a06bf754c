import type { CallState } from '../event/call-state.ts';
import { waitsForApproval, type Decision } from '../event/pending-call.ts';
import type { ToolUse } from '../message/content-block.ts';
import { openCalls } from '../message/tool-pairs.ts';
import type { ReActAgent } from './react-agent.ts';

export interface DecideForMessageOptions {
  /** The user's own decisions. They count for open calls. */
  readonly given?: readonly Decision[];
  /**
   * Returns whether nobody can finish the call, because the page or the process that ran it is
   * gone. Such a call is closed as interrupted. Default: never.
   */
  readonly isGone?: (toolUse: ToolUse, state: CallState) => boolean;
}

/**
 * Returns decisions about all open calls, for a chat in which the user writes a new message instead
 * of deciding. Give them to the call as `options.decisions`. A call that waits for approval is
 * rejected, unless `given` decides about it. Returns an empty list if a call waits for something
 * else: the agent then refuses the message, or closes the calls (`patchToolCalls`).
 */
export async function decideForMessage(
  { memory, tools, status }: Pick<ReActAgent, 'memory' | 'tools' | 'status'>,
  { given = [], isGone = () => false }: DecideForMessageOptions = {},
): Promise<readonly Decision[]> {
  const open = openCalls(await memory.read());
  if (!open.length) return [];
  await memory.restore?.(status, tools);
  const waits = open.some(({ id }) => {
    const { pending } = status.calls.get(id) ?? {};
    return pending && waitsForApproval(pending);
  });
  const decisions = open.map((toolUse): Decision | undefined => {
    const state = status.calls.get(toolUse.id);
    const own = given.find(({ toolUseId }) => toolUseId === toolUse.id) ?? state?.decision;
    if (own) return own;
    const tool = tools.find(toolUse.name);
    // A memory without a log does not know what its calls wait for.
    const mayWait = !state && typeof tool === 'object' && !!tool.needsApproval;
    if (mayWait || (state?.pending && waitsForApproval(state.pending))) return rejected(toolUse);
    // It is held until its siblings are decided.
    if (waits && state && !state.started && !state.pending) return rejected(toolUse);
    return state && isGone(toolUse, state) ? interrupted(toolUse, state) : undefined;
  });
  const known = decisions.filter((decision) => decision !== undefined);
  return known.length === open.length ? known : [];
}

function rejected({ id: toolUseId }: ToolUse): Decision {
  const reason = 'the user wrote a new message instead of deciding';
  return { toolUseId, type: 'reject', reason };
}

function interrupted({ id: toolUseId }: ToolUse, { started, pending }: CallState): Decision {
  const mayHaveRun = started || pending !== undefined;
  const effect = mayHaveRun ? 'finished; its effect is unknown' : 'ran';
  const output = `Interrupted before it ${effect}: what ran it is gone.`;
  return { toolUseId, type: 'result', output, state: 'interrupted' };
}
