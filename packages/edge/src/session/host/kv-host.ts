import { AgentError } from '@isoloop/core';
import type { ReActAgent } from '@isoloop/core';
import { mayAskApproval } from '@isoloop/core/adapter';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings, SessionSetup } from '../../handler-options.ts';
import type { TurnInput } from '../../turn/chat-turn.ts';
import { keepTurn } from '../../turn/keep-turn.ts';
import { makeAgent, openMemory } from '../../turn/session.ts';
import { noContent } from '../hosted-session.ts';
import { liveResponse } from '../live-turn.ts';
import { beginTurn, type SessionTurn } from '../session-turn.ts';
import type { HostSettings, TurnHost } from './turn-host.ts';

/**
 * Returns a host that runs each turn within the HTTP request that asks for the turn. The session is
 * stored in KV, or in the memory that `settings.memory` opens.
 */
export function kvHost(c: Context<EdgeEnv>, settings: HostSettings, setup: SessionSetup): TurnHost {
  return {
    async answer({ turn, face, call, echo }) {
      const memory = await openMemory(settings, { ...setup, ...echo });
      const made = await makeAgent(settings, { ...setup, memory, model: turn.model });
      const { agent } = made;
      const { stream, leave } = await keepTurn(c, {
        ...made,
        memory,
        begin: async () => {
          call?.check(agent);
          return beginKvTurn(agent, turn.turn, settings);
        },
        settings,
        call: call?.options,
      });
      const live = { turn, agent, stream, call, before: [] };
      return liveResponse(live, { face, settings, here: { memory, onCancel: leave } });
    },
    reconnect: async () => noContent(),
  };
}

/**
 * Throws `NEEDS_DURABLE_OBJECT` if the agent may ask for approval and the option `approvals` is not
 * set.
 */
export function checkApprovals(
  agent: ReActAgent,
  { approvals }: Pick<HandlerSettings, 'approvals'>,
): void {
  if (!approvals && mayAskApproval(agent)) throw needsObject();
}

/**
 * Begins a turn of a session outside a Durable Object. Outside a Durable Object, two approvals of
 * one tool call at the same time would both run the tool. Without the option `approvals`, this
 * function therefore throws `NEEDS_DURABLE_OBJECT` in two cases:
 *
 * - The agent may ask for approval. This is checked first.
 * - The turn approves a tool call that asks for approval only during a run, such as a call of a
 *   child agent.
 */
async function beginKvTurn(
  agent: ReActAgent,
  turn: SessionTurn,
  settings: Pick<HandlerSettings, 'approvals' | 'openai' | 'systemMessages'>,
): Promise<TurnInput> {
  checkApprovals(agent, settings);
  if (settings.approvals) return beginTurn(agent, turn, settings);
  const begun = await beginTurn(agent, withoutApprovals(turn), settings);
  if (Array.isArray(begun.input) && begun.input.some(isApproval)) throw needsObject();
  return begun;
}

/**
 * Removes the approvals that come with a new message, so that the message rejects their tool calls.
 * With an error instead, every later message would fail too, because the client sends the approvals
 * again.
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
