import { AgentError, SessionMemory } from '@isoloop/core';
import type { AgentInput, Decision, Msg, ReActAgent } from '@isoloop/core';
import { isCutOff, resumptionOf } from '@isoloop/core/adapter';
import { checkFirstTurn, takeTurn, waitingCalls } from '../turn/chat-turn.ts';
import type { Turn } from '../turn/chat-turn.ts';
import { withoutSystem } from '../completions/completion-messages.ts';
import { acceptDecisions } from '../turn/decisions.ts';
import type { HandlerSettings } from '../handler-options.ts';
import { invalidField } from '../http/request-body.ts';

/**
 * A turn of a session, as plain JSON. `useChat` sends a `Turn`. Other clients send new messages,
 * decide about pending calls, or continue from the log. System messages count only at the beginning
 * of a session.
 */
export type SessionTurn =
  | Turn
  | { readonly kind: 'messages'; readonly messages: readonly Msg[] }
  | { readonly kind: 'decide'; readonly decisions: readonly Decision[] }
  | { readonly kind: 'continue' };

/**
 * Reads the log, removes what the turn replaces, and returns the agent's input. Returns `undefined`
 * if the agent continues from the log.
 */
export async function beginTurn(
  agent: ReActAgent,
  turn: SessionTurn,
  { systemMessages }: Pick<HandlerSettings, 'systemMessages'>,
): Promise<AgentInput | undefined> {
  // Always read: only a log that was read tells whether the session is new.
  const stored = await agent.memory.read();
  switch (turn.kind) {
    case 'messages': {
      const messages = turn.messages.filter(({ role }) => !stored.length || role !== 'system');
      if (!messages.length)
        throw invalidField('messages', 'has nothing new after the last message of the assistant');
      return systemMessages === 'keep' ? messages : withoutSystem(messages);
    }
    case 'decide':
      return acceptDecisions(agent, turn.decisions);
    case 'continue':
      return undefined;
    default:
      return takeTurn(agent, turn);
  }
}

/**
 * Returns the agent's input, in an object, for a turn whose isolate died after the turn had begun.
 * Returns `undefined` if the turn had ended or was interrupted.
 */
export async function resumeTurn(
  agent: ReActAgent,
  turn: SessionTurn,
  settings: Pick<HandlerSettings, 'systemMessages'>,
): Promise<{ readonly input: AgentInput | undefined } | undefined> {
  const { memory } = agent;
  const stored = await memory.read();
  const view = memory instanceof SessionMemory ? memory.view() : withoutNotes;
  const { openRun, ended, calls } = await view;
  const { type } = resumptionOf({ messages: stored, openRun });
  if (isCutOff({ messages: stored, openRun, ended })) return { input: undefined };
  if (type === 'interrupted' && openRun !== undefined && ended === undefined)
    await memory.flush?.({ runId: openRun, reason: 'interrupted', calls });
  switch (turn.kind) {
    case 'decisions':
    case 'decide':
      return (await waitingCalls(memory)).length
        ? { input: await beginTurn(agent, turn, settings) }
        : undefined;
    case 'continue':
      return undefined;
    default: {
      const given = messagesOf(turn);
      if (given.length && !stored.some(({ id }) => given.includes(id)))
        return { input: await beginTurn(agent, turn, settings) };
      const isAsked = type === 'unanswered' && stored.at(-1)?.role === 'user';
      const isLeft = isAsked && (turn.kind === 'regenerate' || ended === undefined);
      return isLeft ? { input: undefined } : undefined;
    }
  }
}

/** What a memory without notes tells about runs. */
const withoutNotes = { openRun: undefined, ended: undefined, calls: new Map<string, never>() };

/** Throws if a session's first turn has nothing to continue from. */
export function checkFirst(turn: SessionTurn): void {
  if (turn.kind === 'continue')
    throw new AgentError('INVALID_INPUT', 'The session has nothing to continue.');
  if (turn.kind === 'decide')
    throw new AgentError('INVALID_DECISION', 'No tool call waits for this decision.');
  if (turn.kind !== 'messages') checkFirstTurn(turn);
}

function messagesOf(
  turn: Exclude<SessionTurn, { kind: 'decisions' | 'decide' | 'continue' }>,
): readonly string[] {
  if (turn.kind === 'messages') return turn.messages.map(({ id }) => id);
  return turn.message ? [turn.message.id] : [];
}
