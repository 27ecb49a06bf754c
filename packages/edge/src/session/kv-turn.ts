import { AgentError } from '@isoloop/core';
import type { ReActAgent } from '@isoloop/core';
import { mayAskApproval } from '@isoloop/core/adapter';
import type { HandlerSettings } from '../handler-options.ts';
import type { TurnInput } from '../turn/chat-turn.ts';
import { beginTurn, type SessionTurn } from './session-turn.ts';

/**
 * Begins a turn of a session outside a Durable Object. There, two approvals of one call at the same
 * time both find the call open, and both run its tool. Throws `NEEDS_DURABLE_OBJECT`, unless
 * `approvals` accepts that:
 *
 * - before anything else, if the agent may ask for approval;
 * - for an approval of a call that asks only during the run, such as a call of a child agent.
 */
export async function beginKvTurn(
  agent: ReActAgent,
  turn: SessionTurn,
  settings: Pick<HandlerSettings, 'approvals' | 'systemMessages'>,
): Promise<TurnInput> {
  if (settings.approvals) return beginTurn(agent, turn, settings);
  if (mayAskApproval(agent)) throw needsObject();
  const begun = await beginTurn(agent, withoutApprovals(turn), settings);
  if (Array.isArray(begun.input) && begun.input.some(isApproval)) throw needsObject();
  return begun;
}

/**
 * Removes the approvals that a new message brings along, so that the message denies their calls. If
 * the message failed instead, every later message would bring them again and fail, too.
 */
function withoutApprovals(turn: SessionTurn): SessionTurn {
  if (turn.kind !== 'message' || !turn.decisions) return turn;
  return { ...turn, decisions: turn.decisions.filter((decision) => !isApproval(decision)) };
}

function isApproval(item: object): boolean {
  return 'type' in item && item.type === 'approve';
}

function needsObject(): AgentError {
  return new AgentError(
    'NEEDS_DURABLE_OBJECT',
    'The agent may ask for approvals, which need a Durable Object: bind CHAT_SESSION.',
  );
}
