import type { Memory } from '@isoloop/core';
import type { QueuedMessage } from '@isoloop/core/host';
import type { UIMessage } from '@isoloop/core/stream';
import type {
  HandlerSettings,
  RequestVariables,
  SessionSetup,
} from '../settings/handler-options.ts';
import { errorResponse } from '../http/error-response.ts';
import { makeAgent } from './setup.ts';
import { notQueuedError, type Command, type SessionRequest } from './commands.ts';
import { turnFormat } from '../answer/formats.ts';

/** Carries out the commands of one session, in its Durable Object or in a process. */
export interface CommandHandler {
  messages(request: SessionRequest): Promise<readonly UIMessage[]>;
  /** Returns the messages that were accepted and are not in the log. Call it after `messages`. */
  queuedMessages(): readonly QueuedMessage[];
  /** Takes a queued message back. Resolves with false if there is none with the id. */
  withdraw(command: Command<'withdraw'>): Promise<boolean>;
  stream(command: Command<'stream'>): Promise<Response>;
  /** Interrupts the running turn. Resolves with false if no turn is running. */
  interrupt(command: Command<'interrupt'>): Promise<boolean>;
  /** Gives the session another title. Rejects with `NOT_FOUND` if there is no such session. */
  rename(command: Command<'rename'>): Promise<void>;
  delete(): Promise<void>;
}

/** Answers a request to a session. An error becomes a response. */
export async function answerRequest(
  settings: HandlerSettings,
  { requestId, command }: SessionRequest,
  answer: () => Promise<Response>,
): Promise<Response> {
  let errorFormat: RequestVariables['errorFormat'] = 'isoloop';
  try {
    if (command.type === 'turn') ({ errorFormat } = turnFormat(settings, command.format));
    return await answer();
  } catch (error) {
    return errorResponse(error, { requestId, errorFormat });
  }
}

/** Carries out a command about one session that starts no turn. */
export async function answerCommand(
  handler: CommandHandler,
  request: SessionRequest,
): Promise<Response> {
  const { command } = request;
  switch (command.type) {
    case 'messages':
      return messagesResponse(await handler.messages(request), handler.queuedMessages());
    case 'stream':
      return handler.stream(command);
    case 'interrupt':
      return Response.json({ interrupted: await handler.interrupt(command) });
    case 'withdraw':
      if (!(await handler.withdraw(command))) throw notQueuedError();
      break;
    case 'rename':
      await handler.rename(command);
      break;
    case 'delete':
      await handler.delete();
      break;
    default:
      // The callers carry these out. The compiler names a command that nobody carries out.
      command satisfies Command<'turn' | 'list' | 'put-in-list' | 'take-from-list'>;
  }
  return noContent();
}

/** Deletes the log of a session, and what its agent stores elsewhere. */
export async function forgetSession(
  settings: HandlerSettings,
  setup: SessionSetup,
  memory: Memory,
): Promise<void> {
  const sessionAgent = await makeAgent(settings, { ...setup, memory, model: settings.models[0]! });
  await sessionAgent.close?.();
  await sessionAgent.deleteSession?.(setup.sessionId);
  await sessionAgent.agent.memory.clear();
}

/** `queued` is absent if there is nothing in it. */
function messagesResponse(
  messages: readonly UIMessage[],
  queued: readonly QueuedMessage[],
): Response {
  return Response.json({ messages, ...(queued.length > 0 && { queued }) });
}

export function noContent(): Response {
  return new Response(null, { status: 204 });
}
