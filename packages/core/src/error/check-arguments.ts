import { AgentError } from './agent-error.ts';

/**
 * Throws `CONFIGURATION` if the arguments of a function do not fit, or if there are `others`, which
 * are options with unknown names. `takes`: what the function takes, for the error.
 */
export function checkArguments(takes: string, isFit: unknown, others: object): void {
  const [unknown] = Object.keys(others);
  if (isFit && !unknown) return;
  const wrong = unknown ? `, not ${unknown}` : '';
  const advice =
    takes.includes('sessionId') && sessionNames.includes(unknown) ? ' Use sessionId.' : '';
  throw new AgentError('CONFIGURATION', `${takes}${wrong}.${advice}`);
}

/** Names that other libraries use for the session id. */
const sessionNames: readonly unknown[] = ['id', 'chatId', 'conversationId', 'session', 'threadId'];
