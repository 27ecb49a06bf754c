import { fieldError, readChatTurn, type ChatTurnRequest } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EchoSetup } from '../answer/echo.ts';
import { checkEdits } from './decisions.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { echoHeader } from '../http/header-names.ts';
import { checkReader } from '../http/reader-headers.ts';
import { checkModel, readJson, type RequestBody } from '../http/request-body.ts';
import { sendTurn } from '../session/send-turn.ts';
import { openTurn } from '../answer/live-response.ts';
import { acceptedFormat } from '../answer/formats.ts';
import { checkSessionId, setupOf } from '../session/setup.ts';

/**
 * Handles `POST /api/chat`: accepts the requests of AI SDK's `useChat`, and answers with a UI
 * message stream. A client that accepts `objectMediaType` gets only the object. The server stores
 * the history, so it uses only the last posted message, or the decisions about pending tool calls
 * in that message. If the history already has a message with the same id, that message and all
 * later messages are removed first.
 *
 * With `queue: true`, a message that has to wait for another turn gets 202 and no stream.
 *
 * The turn continues if the client disconnects. If the memory has an echo, the metadata of the
 * answer contain the echo, and the client sends it with its next request. An echo is a signed text
 * that identifies the session state that the client has seen.
 */
export async function chatRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const { limits, models, moves } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  await checkReader(c, body['userDigest']);
  const setup = setupOf(c, checkSessionId(body['id']));
  const model = body['model'] === undefined ? models[0]! : checkModel(body['model'], models);
  const request = readChatTurn(body, limits);
  if ('decisions' in request) checkEdits(request.decisions, c.get('caller'));
  const format = acceptedFormat(c, {
    events: readFlag(body, 'events') || settings.events,
    typed: readFlag(body, 'typed'),
  });
  const isInBackground = readFlag(body, 'queue');
  const answer = sendTurn(c, settings, setup, {
    request,
    model,
    format,
    inBackground: isInBackground,
    echoSetup: readChatEcho(c, body, request, moves),
  });
  // Its status says whether the message waits.
  if (isInBackground) return answer;
  return openTurn(c, settings, format, answer);
}

/** Returns a field that must be a boolean. Default: false. */
function readFlag(body: RequestBody, name: 'events' | 'typed' | 'queue'): boolean {
  const { [name]: flag = false } = body;
  if (typeof flag === 'boolean') return flag;
  throw fieldError(name, 'must be a boolean');
}

/**
 * Reads the echo from the header or, without the header, from the last message with an echo. A
 * client that posts only one new message may not have seen the session; any other client has. With
 * `moves`, the session may have come from another place, or belong there, so the head is always
 * read.
 */
function readChatEcho(
  c: Context<EdgeEnv>,
  body: RequestBody,
  request: ChatTurnRequest,
  moves?: object,
): EchoSetup {
  const { messages, messageId } = body;
  const echoes = (messages as readonly unknown[]).map(
    (message): unknown => Object(Object(message).metadata).echo,
  );
  const echo = c.req.header(echoHeader) ?? echoes.findLast((each) => each !== undefined);
  if (echo !== undefined && typeof echo !== 'string') throw fieldError('echo', 'must be a text');
  const isFirst = !moves && echoes.length === 1 && messageId == null && request.kind === 'message';
  return { ...(echo !== undefined && { echo }), withoutEcho: isFirst ? 'start' : 'latest' };
}
