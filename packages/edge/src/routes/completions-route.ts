import type { Context } from 'hono';
import { callFields, readCall } from '../completions/completion-call.ts';
import { readPosted, readTail } from '../completions/completion-messages.ts';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';
import { checkModel, invalidField, readJson, readMessages } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import type { HostSettings } from '../session/host/turn-host.ts';
import { checkSession } from '../turn/session.ts';
import { answerInSession, answerOnce, sessionHeader } from './openai-answer.ts';

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
  settings: HostSettings & Pick<HandlerSettings, 'models'>,
): Promise<Response> {
  const { limits } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const model = checkModel(body['model'], settings.models);
  refuseUnsupported(body);
  const fields = callFields(body, 'completions');
  const call = readCall(fields, settings);
  const { stream, includeUsage } = readStreaming(body);
  const posted = readPosted(readMessages(body, limits.messages), limits);
  const id = `chatcmpl-${crypto.randomUUID()}`;
  const completion = {
    model,
    id,
    created: Math.floor(Date.now() / 1000),
    includeUsage,
    wholeText: call.wholeText,
  };
  const face = { kind: 'completion', stream, completion } as const;
  const header = c.req.header(sessionHeader);
  if (header === undefined) return answerOnce(c, settings, { model, call, face, posted, id });
  const sessionId = checkSession(header);
  const turn = readTail(posted);
  return answerInSession(c, settings, { model, call, face, sessionId, turn, fields });
}

/** Throws `INVALID_INPUT` for unsupported fields that the endpoint must not silently ignore. */
function refuseUnsupported(body: RequestBody): void {
  for (const field of ['functions', 'function_call', 'audio', 'web_search_options']) {
    const value = body[field];
    if (Array.isArray(value) ? value.length : value != null)
      throw invalidField(field, 'is not supported');
  }
  if (body['n'] != null && body['n'] !== 1)
    throw invalidField('n', 'must be 1: there is one answer');
  if (body['logprobs'] != null && body['logprobs'] !== false)
    throw invalidField('logprobs', 'must be false: there are none');
  const { stop, modalities } = body;
  if (Array.isArray(stop) ? stop.length : stop != null)
    throw invalidField('stop', 'is not supported: an answer may be of several replies');
  if (
    modalities != null &&
    !(Array.isArray(modalities) && modalities.every((kind) => kind === 'text'))
  ) {
    throw invalidField('modalities', 'must be ["text"]');
  }
}

function readStreaming({ stream, stream_options: options }: RequestBody): {
  readonly stream: boolean;
  readonly includeUsage: boolean;
} {
  if (stream != null && typeof stream !== 'boolean')
    throw invalidField('stream', 'must be a boolean');
  if (options != null && (typeof options !== 'object' || Array.isArray(options)))
    throw invalidField('stream_options', 'must be an object');
  if (options != null && stream !== true)
    throw invalidField('stream_options', 'needs `stream: true`');
  const { include_usage: includeUsage } = Object(options) as { readonly include_usage?: unknown };
  if (includeUsage != null && typeof includeUsage !== 'boolean')
    throw invalidField('stream_options.include_usage', 'must be a boolean');
  return { stream: stream === true, includeUsage: includeUsage === true };
}
