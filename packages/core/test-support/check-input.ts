import type { Middleware } from '../src/agent/middleware.ts';
import type { RunContext } from '../src/agent/run-context.ts';
import type { Steps } from '../src/agent/steps.ts';
import { AgentError, type AgentErrorData } from '../src/error/agent-error.ts';
import type { ParsedInput } from '../src/event/agent-input.ts';
import type { Msg } from '../src/message/msg.ts';

/** Passes messages through guards of the input, without an agent. */
export async function checkInput(
  guards: readonly Middleware[],
  messages: readonly Msg[],
  { userId }: { readonly userId?: string | undefined } = { userId: 'u' },
): Promise<readonly Msg[]> {
  const { signal } = new AbortController();
  const context = { runId: 'r', sessionId: 's', agentPath: ['a'], userId, signal, messages: [] };
  const about = context as unknown as RunContext;
  const last = async (input: ParsedInput): Promise<ParsedInput> => input;
  const check = guards.reduceRight<typeof last>((next, { wrapInput }) => {
    const checked = wrapInput!(next);
    return async (input) => checked(input, about, {} as Steps);
  }, last);
  return (await check({ messages, decisions: [] })).messages;
}

/** Returns the data of the error with which the check rejects. */
export async function rejectionOf(checking: Promise<unknown>): Promise<AgentErrorData> {
  const thrown: unknown = await checking.catch((error: unknown) => error);
  if (!AgentError.is(thrown)) throw new Error('The input passed.');
  return thrown.toJSON();
}
