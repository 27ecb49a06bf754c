import { InMemoryMemory } from '@isoloop/core';
import type { AgentStream, Msg } from '@isoloop/core';
import type { Context } from 'hono';
import { readKey } from '../turn/asked-again.ts';
import { callFields, readCall, type CompletionCall } from '../completions/completion-call.ts';
import { completionEncoder, wholeCompletion } from '../completions/completion-answer.ts';
import {
  checkConversation,
  readPosted,
  readTail,
  withoutSystem,
} from '../completions/completion-messages.ts';
import { logError } from '../http/error-response.ts';
import { awaitOpening, eventStream, eventStreamHeaders, hasOutput } from '../turn/event-stream.ts';
import type { EventStreamOptions } from '../turn/event-stream.ts';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';
import { checkModel, invalidField, readJson, readMessages } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import { onDisconnect, settleBehind, waitUntil } from '../http/request-context.ts';
import { makeAgent } from '../turn/session-agent.ts';
import { checkApprovals } from '../session/kv-turn.ts';
import { sessionObject } from '../session/session-command.ts';
import { turnHost, type HostSettings } from '../session/turn-host.ts';
import { checkSession, readEcho } from '../turn/session.ts';
import type { Completion } from '../session/turn-face.ts';

/**
 * Header with the id of a stored session. Without this header, a request to `/v1` contains the
 * whole conversation.
 */
export const sessionHeader = 'x-isoloop-session';

/** Request whose fields are checked. */
interface Asked {
  readonly body: RequestBody;
  readonly model: string;
  readonly posted: readonly Msg[];
  readonly call: CompletionCall;
  readonly stream: boolean;
  readonly completion: Completion;
}

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
  const call = readCall(body, settings);
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
  const asked: Asked = { body, model, posted, call, stream, completion };
  const session = c.req.header(sessionHeader);
  return session === undefined
    ? answerOnce(c, settings, asked)
    : answerInSession(c, settings, asked, checkSession(session));
}

async function answerOnce(
  c: Context<EdgeEnv>,
  settings: HostSettings,
  asked: Asked,
): Promise<Response> {
  const { model, posted, call, completion } = asked;
  const memory = new InMemoryMemory(
    settings.systemMessages === 'keep' ? posted : withoutSystem(posted),
  );
  const made = await makeAgent(settings, {
    env: c.env,
    user: c.get('user'),
    session: completion.id,
    memory,
    model,
  });
  const { agent } = made;
  let ended: Promise<unknown> | undefined;
  try {
    call.check(agent);
    checkConversation(posted, agent);
    // Without a Durable Object, no route of this endpoint could accept the approval.
    if (!sessionObject(c.env, c.get('user'), completion.id)) checkApprovals(agent, settings);
    const controller = new AbortController();
    onDisconnect(c, () => controller.abort());
    const run = agent.stream(undefined, { ...call.options, signal: controller.signal });
    if (!asked.stream) return wholeCompletion(await run.result, completion);
    const requestId = c.get('requestId');
    const answer = await streamed(run, asked, {
      keepAliveMs: settings.limits.keepAliveMs,
      onCancel: () => waitUntil(c, run.cancel()),
      onError: (error) => logError(error, requestId),
    });
    // Reads `result` only after the stream has its reader, because otherwise the run would also
    // continue without a reader.
    ended = run.result;
    return answer;
  } finally {
    settleBehind(c, made, ended);
  }
}

function answerInSession(
  c: Context<EdgeEnv>,
  settings: HostSettings,
  asked: Asked,
  session: string,
): Promise<Response> {
  const { body, model, posted, call, completion } = asked;
  const turn = {
    turn: readTail(posted),
    model,
    messageId: crypto.randomUUID(),
    requestId: c.get('requestId'),
    call: callFields(body),
    ...readKey(c),
  };
  const face = { kind: 'completion', stream: asked.stream, completion } as const;
  return turnHost(c, settings, session).answer({ turn, face, call, echo: readEcho(c) });
}

async function streamed(
  run: AgentStream,
  { completion, call: { isExternal } }: Asked,
  options: Pick<EventStreamOptions, 'keepAliveMs' | 'onCancel' | 'onError'>,
): Promise<Response> {
  const batches = await awaitOpening(run.batches()[Symbol.asyncIterator](), hasOutput);
  const body = eventStream({
    ...options,
    batches,
    encode: completionEncoder({ ...completion, isExternal }),
  });
  return new Response(body, { headers: eventStreamHeaders });
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
