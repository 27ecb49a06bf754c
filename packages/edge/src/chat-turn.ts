import { AgentError, SessionMemory, textOf } from '@isoloop/core';
import type { AgentInput, Decision, Memory, Msg, PendingCall, ReActAgent } from '@isoloop/core';
import { readDecisions } from './posted-decisions.ts';
import { invalidField, readMessages } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { rewind } from './session.ts';
import { readUserMessage } from './user-message.ts';

/**
 * What a client wants of a conversation, plain JSON: a new message, or an old one in new words; another answer, to the message it names or
 * else to the last that is stored; or to go on with what it decided about tool calls.
 */
export type Turn =
  | { readonly kind: 'message'; readonly message: Msg }
  | { readonly kind: 'regenerate'; readonly message?: Msg }
  | { readonly kind: 'decisions'; readonly decisions: readonly Decision[]; readonly messageId: string };

/** What `useChat` posted: only its last message counts. */
export function readTurn(body: RequestBody, maxMessages: number): Turn {
  const { trigger } = body;
  if (trigger !== undefined && trigger !== 'submit-message' && trigger !== 'regenerate-message') {
    throw invalidField('trigger', 'must be "submit-message" or "regenerate-message"');
  }
  const messages = readMessages(body, maxMessages);
  if (trigger === 'regenerate-message') {
    const last = messages.findLast((message) => Object(message).role === 'user');
    return { kind: 'regenerate', ...(typeof Object(last).id === 'string' && { message: readUserMessage(last) }) };
  }
  const last = messages.at(-1);
  const decisions = readDecisions(last);
  if (decisions.length) return { kind: 'decisions', decisions, messageId: String(Object(last).id) };
  return { kind: 'message', message: readUserMessage(last) };
}

/** Takes out of the log what the turn replaces, and gives what to call the agent with; nothing where it goes on from the log. */
export async function takeTurn(memory: Memory, turn: Turn): Promise<AgentInput | undefined> {
  if (turn.kind === 'decisions') return decide(memory, turn.decisions);
  const { message } = turn;
  const regenerates = turn.kind === 'regenerate';
  if (message) {
    // Two messages of one id could not be told apart: what is done to the one would be done to the other.
    if ((await memory.read()).some(({ id, role }) => id === message.id && role !== 'user')) {
      throw new AgentError('INVALID_MESSAGE', "The message has the id of one that is not the user's.");
    }
    const stored = await rewind(memory, (id, role) => id === message.id && role === 'user', !regenerates);
    // A message that never arrived is a new one, also where the client asks for another answer to it.
    return stored && regenerates ? undefined : message;
  }
  if (await rewind(memory, (_id, role) => role === 'user', false)) return undefined;
  throw new AgentError('INVALID_INPUT', 'There is no message whose answer could be given again.');
}

/** What was decided about calls that wait for it. A call that waits for a result takes no approval, and the other way round. */
async function decide(memory: Memory, given: readonly Decision[]): Promise<readonly Decision[]> {
  const waiting = await waitingCalls(memory);
  const decisions = given.filter(({ toolUseId, type }) => {
    const kind = waiting.find((call) => call.toolUseId === toolUseId)?.kind;
    if (kind) return (type === 'result') === (kind === 'external');
    // The message has the results of finished calls, too.
    if (type === 'result') return false;
    throw new AgentError('INVALID_DECISION', `Tool call "${toolUseId}" waits for no decision.`);
  });
  if (decisions.length) return decisions;
  throw new AgentError('INVALID_DECISION', 'No tool call waits for what was decided.');
}

/** The calls that wait for somebody; none where the memory has no log of them. */
export async function waitingCalls(memory: Memory): Promise<readonly PendingCall[]> {
  const calls = memory instanceof SessionMemory ? (await memory.view()).calls.values() : [];
  return [...calls].flatMap(({ pending }) => pending ?? []);
}

const maxTitle = 80;

/**
 * A new session is called by what it began with, until it is renamed; to be asked for before its first run. Noted once guards have seen the
 * message and it is in the log, and written with what is written next.
 */
export function entitle(agent: ReActAgent, onTitle?: () => void): void {
  const { memory } = agent;
  if (!memory.note || memory.sessionVersion !== 0) return;
  const remove = agent.addHook({
    name: 'title',
    onError: 'ignore',
    on: {
      'pre-reasoning': async () => {
        remove();
        const title = titleOf(await memory.read());
        if (!title) return;
        await memory.note?.([{ kind: 'state', state: { title } }]);
        onTitle?.();
      },
    },
  });
}

/** The beginning of the first text a user said; empty where there is none. */
export function titleOf(messages: readonly Msg[]): string {
  const first = messages.find(({ role }) => role === 'user');
  const characters = [...(first ? textOf(first) : '').replace(/\s+/g, ' ').trim()];
  return characters.length > maxTitle ? `${characters.slice(0, maxTitle - 1).join('')}…` : characters.join('');
}
