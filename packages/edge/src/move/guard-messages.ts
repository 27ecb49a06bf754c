import {
  AgentError,
  InMemoryMemory,
  userMessage,
  type AgentErrorData,
  type Msg,
} from '@isoloop/core';
import { clientTextError, type ClientText } from '@isoloop/core/host';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { makeAgent } from '../session/setup.ts';

export interface GuardSetup {
  readonly settings: Pick<HandlerSettings, 'agent' | 'models'>;
  readonly setup: SessionSetup;
  /** Time for all guards, in milliseconds. Default: a minute. */
  readonly guardsMs?: number;
}

/**
 * Passes messages and further texts of a client through the guards of the session's agent, which
 * may change them. Asks no model. Throws the error of the guard that rejects them, and
 * `CALL_TIMEOUT` after `guardsMs`, because the session takes no turns meanwhile.
 */
export async function guardMessages(
  messages: readonly Msg[],
  { settings, setup, guardsMs = 60_000 }: GuardSetup,
  moreTexts: readonly ClientText[] = [],
): Promise<readonly Msg[]> {
  if (!messages.length && !moreTexts.length) return messages;
  const acceptedMessages = [...messages];
  const messageTexts = messages.map((message, at): ClientText => ({
    message,
    take(acceptedMessage) {
      if (!acceptedMessage) throw clientTextError();
      acceptedMessages[at] = acceptedMessage;
    },
  }));
  const clientTexts = [...messageTexts, ...moreTexts];
  const memory = new InMemoryMemory();
  const sessionAgent = await makeAgent(settings, { ...setup, memory, model: settings.models[0]! });
  const { agent } = sessionAgent;
  // The guards have accepted the input when this hook ends the agent call.
  agent.addHook({ name: 'import', on: { 'pre-call': ({ stop }) => stop() } });
  const signal = AbortSignal.timeout(guardsMs);
  const input = userMessage('Imported conversation.');
  try {
    const { error, reason } = await agent.call(input, { clientTexts, signal });
    if (reason === 'aborted')
      throw new AgentError('CALL_TIMEOUT', `The guards took longer than ${guardsMs} ms.`);
    if (error) throw AgentError.fromJSON({ name: 'AgentError', ...error } as AgentErrorData);
  } finally {
    await sessionAgent.close?.();
  }
  return acceptedMessages;
}
