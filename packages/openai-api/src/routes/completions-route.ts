import { readMessages } from '@isoloop/core/host';
import type { Context } from 'hono';
import { readPosted, readTail } from '../request/completion-messages.ts';
import type { EdgeEnv } from '@isoloop/edge';
import { answerTurn, checkSessionId, type HandlerSettings } from '@isoloop/edge/api';
import { answerWhole, sessionHeader } from './openai-answer.ts';
import type { OpenAiSettings } from '../request/openai-options.ts';
import { readRequest } from './openai-request.ts';

/**
 * Handles `POST /v1/chat/completions`: offers the agent as an OpenAI model.
 *
 * - Without the header `x-isoloop-session`, the request is stateless: the posted messages are the
 *   whole history. The run ends if the client disconnects.
 * - With `x-isoloop-session`, the request is a turn of that session, and the server stores the
 *   history. Only the messages after the last assistant message are used. The turn continues if the
 *   client disconnects.
 *
 * The agent's own tools run on the server, and the answer does not show them. Calls of the client's
 * tools end the run and are returned as `tool_calls`.
 */
export async function completionsRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  openAi: OpenAiSettings,
): Promise<Response> {
  const { limits } = settings;
  const request = await readRequest(c, settings, openAi, 'completions');
  const { body, stream, includeUsage, answerSettings } = request;
  const postedMessages = readPosted(readMessages(body, limits.messages), limits);
  const id = `chatcmpl-${crypto.randomUUID()}`;
  const completion = { ...answerSettings, id, includeUsage };
  const format = { kind: 'completion', stream, completion } as const;
  const header = c.req.header(sessionHeader);
  if (header === undefined)
    return answerWhole(c, settings, { ...request, format, postedMessages, id });
  const sessionId = checkSessionId(header);
  const turnRequest = readTail(postedMessages);
  return answerTurn(c, settings, { ...request, format, sessionId, turnRequest });
}
