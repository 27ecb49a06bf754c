import { AgentError, errorText } from '@isoloop/core';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { Context } from 'hono';
import type { ListedSession, SessionListOptions } from '../settings/session-list.ts';
import type { EdgeEnv } from '../settings/handler-options.ts';
import { objectsOf, type SessionObjects } from '../settings/session-home.ts';
import type { RequestedFormat, StreamFormat } from '../answer/formats.ts';

/**
 * How to end the turn. `stop` ends the turn at its next interrupt point, and the answer is the
 * agent's `recoveryMessage`. `abort` ends the turn at once, without a text. Default: `stop`.
 */
export type InterruptMode = 'stop' | 'abort';

/**
 * Request of the Worker to the Durable Object of a session, as JSON. The Worker has already
 * identified the user and checked the values.
 */
export interface SessionRequest<C extends AnyCommand = SessionCommand> {
  readonly user: string;
  /** Session id. Empty for the list of the user's sessions. */
  readonly sessionId: string;
  readonly requestId: string;
  readonly command: C;
}

/** A command of a session, or of a feature of an endpoint. */
export interface AnyCommand {
  readonly type: string;
}

export type SessionCommand =
  | {
      readonly type: 'turn';
      readonly turn: NewTurn;
      readonly format: RequestedFormat;
      /** Whether a turn that has to wait gets 202 in place of a stream. Default: false. */
      readonly inBackground?: boolean;
    }
  | {
      readonly type: 'stream';
      readonly lastEventId: string | undefined;
      readonly format: StreamFormat;
    }
  | {
      readonly type: 'interrupt';
      readonly mode: InterruptMode;
      readonly reason: string | undefined;
    }
  | { readonly type: 'messages' }
  | { readonly type: 'withdraw'; readonly messageId: string }
  | { readonly type: 'rename'; readonly title: string }
  | { readonly type: 'delete' }
  | ({ readonly type: 'list' } & SessionListOptions)
  | { readonly type: 'put-in-list'; readonly session: ListedSession }
  | { readonly type: 'take-from-list'; readonly sessionId: string };

/** A command of one type. */
export type Command<T extends SessionCommand['type']> = Extract<SessionCommand, { type: T }>;

/** Creates the error for a message that does not wait, or whose turn has begun. */
export function notQueuedError(): AgentError {
  return new AgentError('NOT_FOUND', 'No such message waits. Its turn may have begun.');
}

/** Creates the error for a conversation that does not exist. */
export function unknownSessionError(): AgentError {
  return new AgentError('NOT_FOUND', 'There is no such conversation.');
}

/**
 * Sends a command to a session of the request's user, and returns its response. Returns `undefined`
 * if sessions have no objects. `sessionId` is empty for the list of the user's sessions. Rejects
 * like `callSession`.
 */
export function askSession(
  c: Context<EdgeEnv>,
  sessionId: string,
  command: SessionCommand,
): Promise<Response> | undefined {
  const objects = objectsOf(c.get('home'));
  return objects && callSession(objects, requestOf(c, sessionId, command));
}

/** Returns the request that brings a command to a session of the request's user. */
export function requestOf<C extends AnyCommand>(
  c: Context<EdgeEnv>,
  sessionId: string,
  command: C,
): SessionRequest<C> {
  return { user: c.get('caller').user, sessionId, requestId: c.get('requestId'), command };
}

/**
 * Sends a request to the object of a session and returns its response, even an error response. The
 * address ends with the type of the command. Rejects with `OVERLOADED` or `STORAGE_FAILED` if the
 * object cannot be reached.
 */
export async function callSession(
  objects: SessionObjects,
  request: SessionRequest<AnyCommand>,
): Promise<Response> {
  const { user, sessionId, command } = request;
  try {
    // A session id has no slash, so the objects of two users are never the same.
    const object = objects(`${user}/${sessionId}`);
    const init = { method: 'POST', body: JSON.stringify(request) };
    const response = await object.fetch(sessionAddress + command.type, init);
    // Copies the response, because the headers of the original cannot be changed.
    return new Response(response.body, response);
  } catch (cause) {
    const { overloaded } = Object(cause) as { readonly overloaded?: boolean };
    const options = { cause, retryable: true };
    if (overloaded)
      throw new AgentError('OVERLOADED', 'The session has too many requests; try again later.', {
        ...options,
        details: { retryAfterMs: 10_000 },
      });
    const message = `The session could not be reached: ${errorText(cause)}`;
    throw new AgentError('STORAGE_FAILED', message, options);
  }
}

/** Beginning of the addresses of requests to sessions. The type of the command follows. */
const sessionAddress = 'https://session/';

/** Returns whether a request to the object of a session brings a command of this type. */
export function bringsCommand(request: Request, type: string): boolean {
  return request.url === sessionAddress + type;
}
