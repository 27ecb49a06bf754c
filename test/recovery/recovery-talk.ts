import { AgentError, textOf, type Msg } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';

// What the user and the model say in the conversations of the recovery matrix.

/** The model's answer to the action. */
export const answer = 'Two is the whole answer.';

/** The first message of the user, which the model answers with `One.` */
export const first: UIMessage = say('A');

/**
 * Returns the model's reply to a request. A repeated request gets the same reply. `tool`: name of
 * the tool that the model calls first. `isActing`: the user has begun the action.
 */
export function replyTo(
  { messages }: { readonly messages: readonly Msg[] },
  tool: string,
  isActing: boolean,
): ScriptedReply {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const text = textOf(messages[asked]!);
  if (text === 'Next') return 'Three.';
  if (text === 'A' && !isActing) return 'One.';
  if (!isActing && tool === 'step')
    return { error: new AgentError('MODEL_SERVER', 'The model is down.') };
  const isCalled = messages.slice(asked).some(({ role }) => role === 'assistant');
  const input = tool === 'color' ? {} : { sum: 5 };
  return isCalled ? answer : { toolCalls: [{ id: `call-${text}`, name: tool, input }] };
}

/** Returns a message of a user. */
export function say(text: string): UIMessage {
  return { id: `id-${text}`, role: 'user', parts: [{ type: 'text', text }] };
}

export function textIn({ parts }: Pick<UIMessage, 'parts'>): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Returns the id of the tool call that is in a state, if there is one. */
export function callIn(history: readonly UIMessage[], state: string): string | undefined {
  const part = history
    .flatMap(({ parts }) => parts)
    .find((each) => each.type === 'dynamic-tool' && each.state === state);
  return part?.type === 'dynamic-tool' ? part.toolCallId : undefined;
}
