import { AgentError, type Memory, type PendingCall } from '@isoloop/core';
import { pendingCallsOf } from '@isoloop/core/host';
import type { EchoMemory, SessionBranch } from '../kv/log/echo-memory.ts';
import { toUiMessages } from '@isoloop/core/stream';
import type { Context } from 'hono';
import type { EdgeEnv } from '../settings/handler-options.ts';
import { askSession } from '../session/commands.ts';
import { openMemory } from '../session/homes.ts';
import { objectsOf } from '../settings/session-home.ts';
import { echoOf, readEcho } from '../answer/echo.ts';
import { setupOf } from '../session/setup.ts';

/**
 * Handles `GET /api/chat/:id/messages`: returns `{ messages, echo }`, with the messages in the form
 * of `useChat`. The echo is a signed text that identifies the session state. For an unknown
 * conversation, the list is empty. The metadata of the last message have the echo too, so that
 * `useChat` sends it with the next request.
 */
export async function messagesRoute(c: Context<EdgeEnv>): Promise<Response> {
  const setup = setupOf(c);
  const answer = askSession(c, setup.sessionId, { type: 'messages' });
  if (answer) return answer;
  const memory = await openMemory(c.get('home'), { ...setup, ...readEcho(c) });
  const branch = { messages: await memory.read(), echo: echoOf(memory) };
  return Response.json(toConversation(branch, await pendingCallsOf({ memory })));
}

/**
 * Handles `GET /api/chat/:id/branches`, with the client's echo in the header `x-isoloop-echo`.
 * After a `SESSION_CONFLICT` it returns `{ yours, theirs }`: the client's version of the
 * conversation and the version that was stored. Each has the shape of `GET …/messages`. A client
 * continues a version by sending its echo. Returns `{}` for a session in a Durable Object, which
 * cannot have two versions.
 */
export async function branchesRoute(c: Context<EdgeEnv>): Promise<Response> {
  const setup = setupOf(c);
  const home = c.get('home');
  if (objectsOf(home)) return Response.json({});
  const memory = await openMemory(home, { ...setup, ...readEcho(c) });
  if (!hasBranches(memory)) throw new AgentError('NOT_FOUND', 'Sessions have no branches here.');
  const { yours, theirs } = await memory.branches();
  return Response.json({
    yours: yours && toConversation(yours),
    theirs: theirs && toConversation(theirs),
  });
}

function hasBranches(memory: Memory): memory is EchoMemory {
  return 'branches' in memory;
}

/** Returns the conversation in the form of `useChat`. */
function toConversation(
  branch: Pick<SessionBranch, 'messages'> & { readonly echo: string | undefined },
  pending: readonly PendingCall[] = [],
): object {
  const { echo } = branch;
  const messages = toUiMessages(branch.messages, { pending });
  const lastMessage = messages.at(-1);
  if (lastMessage && echo !== undefined) lastMessage.metadata = { ...lastMessage.metadata, echo };
  return { messages, echo };
}
