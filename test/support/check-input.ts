import {
  type Middleware,
  type Run,
  AgentError,
  type AgentErrorData,
  type Msg,
} from '@isoloop/core';
import type { ParsedInput } from '@isoloop/core/event';

/** Passes messages through guards of the input, without an agent. */
export async function checkInput(
  guards: readonly Middleware[],
  messages: readonly Msg[],
  { userId }: { readonly userId?: string | undefined } = { userId: 'u' },
): Promise<readonly Msg[]> {
  const { signal } = new AbortController();
  const about = { runId: 'r', sessionId: 's', agentPath: ['a'], userId, signal, messages: [] };
  const run = about as unknown as Run;
  const last = async (input: ParsedInput): Promise<ParsedInput> => input;
  const check = guards.reduceRight<typeof last>(
    (next, { wrapInput }) =>
      async (input) =>
        wrapInput!(input, next, run),
    last,
  );
  return (await check({ messages, decisions: [] })).messages;
}

/** Returns the data of the error with which the check rejects. */
export async function rejectionOf(checking: Promise<unknown>): Promise<AgentErrorData> {
  const thrown: unknown = await checking.catch((error: unknown) => error);
  if (!AgentError.is(thrown)) throw new Error('The input passed.');
  return thrown.toJSON();
}
