import { AgentError, errorText } from '@isoloop/core';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { Context } from 'hono';
import type { ListedSession, SessionListOptions } from '../settings/session-list.ts';
import type { EdgeEnv } from '../settings/handler-options.ts';
import type { SessionObject, SessionObjects } from '../settings/session-objects.ts';
import type { StreamFormat, TurnFormat } from '../turn/turn-format.ts';

/**
 * How to end the turn. `stop` ends the turn at its next interrupt point, and the answer is the
 * agent's `recoveryMessage`. `abort` ends the turn at once, without a text. Default: `stop`.
 */
export type InterruptMode = 'stop' | 'abort';

/**
 * Request of the Worker to the Durable Object of a session, as JSON. The Worker has already
 * identified the user and checked the values.
 */
export interface SessionRequest {
  readonly user: string;
  /** Session id. Empty for the list of the user's sessions. */
  readonly sessionId: string;
  readonly requestId: string;
  readonly command: SessionCommand;
}

export type SessionCommand =
  | {
      readonly type: 'turn';
      readonly turn: NewTurn;
      readonly format: TurnFormat;
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

interface Bindings {
  readonly CHAT_SESSION?: DurableObjectNamespace;
}

/** Creates the error for a message that does not wait, or whose turn has begun. */
export function notQueuedError(): AgentError {
  return new AgentError('NOT_FOUND', 'No such message waits. Its turn may have begun.');
}

/** Creates the error for a conversation that does not exist. */
export function unknownSessionError(): AgentError {
  return new AgentError('NOT_FOUND', 'There is no such conversation.');
}

/** Returns the Durable Objects of the sessions, or `undefined` without the binding `CHAT_SESSION`. */
export function durableSessions(env: unknown): SessionObjects | undefined {
  const { CHAT_SESSION: objects } = Object(env) as Bindings;
  return objects && ((name) => objects.get(objects.idFromName(name)));
}

/**
 * Returns the object of a session, or `undefined` if sessions have no objects. A session id has no
 * slash, so the objects of two users are never the same.
 */
export function sessionObject(
  objects: SessionObjects | undefined,
  user: string,
  sessionId: string,
): SessionObject | undefined {
  return objects?.(`${user}/${sessionId}`);
}

/** Sends a command to the object of a session. Rejects like `callSession`. */
export type AskSession = (command: SessionCommand) => Promise<Response>;

/**
 * Returns a function that sends commands to a session of the request's user, or `undefined` if
 * sessions have no objects. `sessionId` is empty for the list of the user's sessions.
 */
export function askerOf(c: Context<EdgeEnv>, sessionId: string): AskSession | undefined {
  const user = c.get('caller').user;
  const object = sessionObject(c.get('sessionObjects'), user, sessionId);
  if (!object) return undefined;
  return async (command) => {
    const request = { user, sessionId, requestId: c.get('requestId'), command };
    const response = await callSession(object, request);
    // Copies the response, because the headers of the original cannot be changed.
    return new Response(response.body, response);
  };
}

/**
 * Sends a request to the object of a session and returns its response, even an error response. Rejects
 * with `OVERLOADED` or `STORAGE_FAILED` if the object cannot be reached.
 */
export async function callSession(
  object: SessionObject,
  request: SessionRequest | Omit<SessionRequest, 'command'>,
  address = 'https://session/',
): Promise<Response> {
  try {
    return await object.fetch(address, { method: 'POST', body: JSON.stringify(request) });
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
