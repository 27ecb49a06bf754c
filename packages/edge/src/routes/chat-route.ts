import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import type { UiChunk } from '@isoloop/core/ai-sdk';
import type { Context } from 'hono';
import { readKey } from '../turn/asked-again.ts';
import { readTurn, takeTurn } from '../turn/chat-turn.ts';
import type { Turn } from '../turn/chat-turn.ts';
import { awaitOpening, eventStream, hasBegun, uiStreamHeaders } from '../turn/event-stream.ts';
import type { EdgeEnv, HandlerSettings, MemorySetup } from '../handler-options.ts';
import { keepTurn } from '../turn/keep-turn.ts';
import { checkModel, invalidField, readJson } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import { makeAgent } from '../turn/session-agent.ts';
import { askSession, sessionObject } from '../session/session-command.ts';
import { checkSession, echoHeader, echoOf, openMemory } from '../turn/session.ts';

/**
 * `POST /api/chat`: what AI SDK's `useChat` posts, answered with its UI message stream. Of the
 * posted messages only the last counts, the history is the server's, or what it says of tool calls
 * that wait for somebody. A message that the history has already is asked again: it and what came
 * after it are taken out. A client that goes away does not lose its turn. Where the memory has an
 * echo, the answer's metadata carry it, and what is posted brings the last one.
 */
export async function chatRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const { limits, models } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const session = checkSession(body['id']);
  const model = body['model'] === undefined ? models[0]! : checkModel(body['model'], models);
  const turn = readTurn(body, limits);
  const echo = readEcho(c, body, turn);
  const events = readEvents(body) || settings.events === true;
  const user = c.get('user');
  const messageId = turn.kind === 'decisions' ? turn.messageId : crypto.randomUUID();
  const object = sessionObject(c.env, user, session);
  if (object) {
    const requestId = c.get('requestId');
    const command = {
      type: 'turn',
      turn: { turn, model, messageId, requestId, ...readKey(c) },
      face: { kind: 'ui', events },
    } as const;
    return askSession(object, { user, session, requestId, command });
  }
  const setup = { env: c.env, session, user };
  const memory = await openMemory(settings, { ...setup, ...echo });
  const made = await makeAgent(settings, { ...setup, memory, model });
  const { stream, leave } = await keepTurn(c, {
    ...made,
    memory,
    begin: () => takeTurn(made.agent, turn),
    settings,
  });
  const encoder = createUiMessageEncoder({ events, messageId });
  const withEcho = (chunk: UiChunk): UiChunk => addEcho(chunk, echoOf(memory));
  const batches = await awaitOpening(stream.batches()[Symbol.asyncIterator](), hasBegun);
  return new Response(
    eventStream({
      batches,
      encode: (batch) => encoder.encode(batch).map(withEcho),
      keepAliveMs: limits.keepAliveMs,
      onCancel: leave,
    }),
    { headers: uiStreamHeaders },
  );
}

/** Whether the client wants the agent's events as well. */
function readEvents({ events = false }: RequestBody): boolean {
  if (typeof events === 'boolean') return events;
  throw invalidField('events', 'must be a boolean');
}

/**
 * The echo in the header, or else in the last message that has one; a client that posts more than a
 * first message has seen the session.
 */
function readEcho(
  c: Context<EdgeEnv>,
  body: RequestBody,
  turn: Turn,
): Pick<MemorySetup, 'echo' | 'withoutEcho'> {
  const { messages, messageId } = body;
  const told = (messages as readonly unknown[]).map(
    (message): unknown => Object(Object(message).metadata).echo,
  );
  const echo = c.req.header(echoHeader) ?? told.findLast((each) => each !== undefined);
  if (echo !== undefined && typeof echo !== 'string') throw invalidField('echo', 'must be a text');
  const isFirst = told.length === 1 && messageId == null && turn.kind === 'message';
  return { ...(echo !== undefined && { echo }), withoutEcho: isFirst ? 'start' : 'latest' };
}

/** At the start what the turn goes on from, at its end, after it was written, the new state. */
function addEcho(chunk: UiChunk, echo: string | undefined): UiChunk {
  if (
    echo === undefined ||
    (chunk.type !== 'start' && chunk.type !== 'finish' && chunk.type !== 'message-metadata')
  )
    return chunk;
  return { ...chunk, messageMetadata: { ...chunk.messageMetadata, echo } };
}
