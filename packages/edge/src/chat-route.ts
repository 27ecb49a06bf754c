import { AgentError } from '@isoloop/core';
import type { Memory, Msg } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import type { UiChunk } from '@isoloop/core/ai-sdk';
import type { Context } from 'hono';
import { awaitOpening, eventStream, eventStreamHeaders } from './event-stream.ts';
import type { EdgeEnv, HandlerSettings, MemorySetup } from './handler-options.ts';
import { keepTurn } from './keep-turn.ts';
import { checkModel, invalidField, readJson, readMessages } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { onDisconnect } from './request-context.ts';
import { checkSession, echoHeader, echoOf, openMemory, rewind } from './session.ts';
import { readUserMessage } from './user-message.ts';

/**
 * `POST /api/chat`: what AI SDK's `useChat` posts, answered with its UI message stream. Of the posted messages only the last counts,
 * the history is the server's. One that it has already is asked again: it and what came after it are taken out. A client that goes
 * away does not lose its turn. Where the memory has an echo, the answer's metadata carry it, and what is posted brings the last one.
 */
export async function chatRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const { limits, models } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const session = checkSession(body['id']);
  const model = body['model'] === undefined ? models[0]! : checkModel(body['model'], models);
  const turn = readTurn(body, limits.messages);
  const setup = { env: c.env, session, user: c.get('user') };
  const memory = await openMemory(settings, { ...setup, ...readEcho(c, body) });
  const agent = await settings.agent({ ...setup, memory, model });
  const input = await takeTurn(agent.memory, turn);

  const controller = new AbortController();
  const stream = agent.stream(input, { detached: true, signal: controller.signal });
  const leave = keepTurn(c, stream, () => controller.abort(), limits.afterDisconnectMs);
  onDisconnect(c, leave);
  const encoder = createUiMessageEncoder({ events: settings.events === true || body['events'] === true });
  const withEcho = (chunk: UiChunk): UiChunk => addEcho(chunk, echoOf(memory));
  const batches = await awaitOpening(stream.batches()[Symbol.asyncIterator]());
  return new Response(
    eventStream({ batches, encode: (batch) => encoder.encode(batch).map(withEcho), keepAliveMs: limits.keepAliveMs, onCancel: leave }),
    { headers: { ...eventStreamHeaders, 'x-vercel-ai-ui-message-stream': 'v1' } },
  );
}

/** The echo in the header, or else in the last message that has one; a client that posts more than a first message has seen the session. */
function readEcho(c: Context<EdgeEnv>, body: RequestBody): Pick<MemorySetup, 'echo' | 'withoutEcho'> {
  const { messages, trigger, messageId } = body;
  const told = (messages as readonly unknown[]).map((message): unknown => Object(Object(message).metadata).echo);
  const echo = c.req.header(echoHeader) ?? told.findLast((each) => each !== undefined);
  if (echo !== undefined && typeof echo !== 'string') throw invalidField('echo', 'must be a text');
  const isFirst = told.length === 1 && messageId === undefined && trigger !== 'regenerate-message';
  return { ...(echo !== undefined && { echo }), withoutEcho: isFirst ? 'start' : 'latest' };
}

/** At the start what the turn goes on from, at its end, after it was written, the new state. */
function addEcho(chunk: UiChunk, echo: string | undefined): UiChunk {
  if (echo === undefined || (chunk.type !== 'start' && chunk.type !== 'finish' && chunk.type !== 'message-metadata')) return chunk;
  return { ...chunk, messageMetadata: { ...chunk.messageMetadata, echo } };
}

/** A new message, or one to be answered again: the one the client names, else the last that is stored. */
type Turn = { readonly regenerate: false; readonly message: Msg } | { readonly regenerate: true; readonly message: Msg | undefined };

function readTurn(body: RequestBody, maxMessages: number): Turn {
  const { trigger } = body;
  if (trigger !== undefined && trigger !== 'submit-message' && trigger !== 'regenerate-message') {
    throw invalidField('trigger', 'must be "submit-message" or "regenerate-message"');
  }
  const messages = readMessages(body, maxMessages);
  if (trigger !== 'regenerate-message') return { regenerate: false, message: readUserMessage(messages.at(-1)) };
  const last = messages.findLast((message) => Object(message).role === 'user');
  return { regenerate: true, message: typeof Object(last).id === 'string' ? readUserMessage(last) : undefined };
}

/** Takes out of the log what the turn replaces, and gives what to call the agent with; nothing where the log ends with the message. */
async function takeTurn(memory: Memory, { regenerate, message }: Turn): Promise<Msg | undefined> {
  if (message) {
    // Two messages of one id could not be told apart: what is done to the one would be done to the other.
    if ((await memory.read()).some(({ id, role }) => id === message.id && role !== 'user')) {
      throw new AgentError('INVALID_MESSAGE', "The message has the id of one that is not the user's.");
    }
    const stored = await rewind(memory, (id, role) => id === message.id && role === 'user', !regenerate);
    // A message that never arrived is a new one, also where the client asks for another answer to it.
    return stored && regenerate ? undefined : message;
  }
  if (await rewind(memory, (_id, role) => role === 'user', false)) return undefined;
  throw new AgentError('INVALID_INPUT', 'There is no message whose answer could be given again.');
}
