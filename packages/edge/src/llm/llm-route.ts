import { AgentError, errorText } from '@isoloop/core';
import { errorOfResponse } from '@isoloop/core/model';
import { jsonText } from '@isoloop/core/message';
import { timerMs } from '@isoloop/core/wait';
import { addSecrets } from '@isoloop/core/error';
import type { Context } from 'hono';
import { errorResponse, type PublicError } from '../http/error-response.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import type { LlmOptions, LlmUpstream } from './llm-options.ts';
import { redactStream } from './redact.ts';
import { checkModel, readJson, type RequestBody } from '../http/request-body.ts';
import type { WireSetup } from './llm-wire.ts';
import { onDisconnect } from '../http/request-context.ts';
import { openInTime } from '../http/open-in-time.ts';
import { byteSource, streamResponse } from '../http/stream-response.ts';

/** One of the two APIs that the proxy forwards. */
export interface LlmApi {
  readonly path: string;
  /** Returns the last text of a stream that fails after its head. */
  readonly encodeError: (error: PublicError) => string;
  /** Returns the body for the model's server. Throws if the endpoint does not forward a field. */
  readonly toWire: (body: RequestBody, setup: WireSetup) => object;
}

/**
 * Handles `POST /llm/v1/chat/completions` and `POST /llm/v1/responses`: adds the API key and
 * forwards the request to the model's server, which stores no response. Forwards each chunk of the
 * answer as soon as it arrives, and comments while none arrives. Allows only listed models and
 * known fields, and limits the output tokens.
 */
export async function llmRoute(
  c: Context<EdgeEnv>,
  { limits }: Pick<HandlerSettings, 'limits'>,
  options: LlmOptions,
  api: LlmApi,
): Promise<Response> {
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const model = checkModel(body['model'], options.models, 'llmProxy');
  const { keepAliveMs } = limits;
  const forwardOnce = async (): Promise<Response> => {
    const upstream = await options.upstream({ env: c.env, user: c.get('caller').user, model });
    const url = (upstream.baseURL ?? 'https://api.openai.com/v1').replace(/\/+$/, '') + api.path;
    const { maxTokens = 4096, fields = [] } = options;
    const setup = { url, upstream, model, maxTokens, fields, maxMessages: limits.messages };
    const wire = jsonText(api.toWire(body, setup));
    const secrets = secretsOf(upstream);
    addSecrets(secrets);
    return forward(c, { url, wire, upstream, secrets, keepAliveMs }, options);
  };
  const answer = forwardOnce();
  if (body['stream'] !== true) return answer;
  const { encodeError } = api;
  return openInTime(c, answer, { kind: 'model', keepAliveMs, encodeError });
}

interface Forwarded {
  readonly url: string;
  /** Body of the request. */
  readonly wire: string;
  readonly upstream: LlmUpstream;
  readonly secrets: readonly string[];
  readonly keepAliveMs: number;
}

async function forward(
  c: Context<EdgeEnv>,
  { url, wire, upstream, secrets, keepAliveMs }: Forwarded,
  options: LlmOptions,
): Promise<Response> {
  const requestId = c.get('requestId');
  try {
    const timeoutMs = options.timeoutMs ?? 300_000;
    const response = await ask(c, url, wire, upstream, timeoutMs);
    if (!response.ok) return await upstreamErrorResponse(response, requestId, timeoutMs);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !/^(text\/event-stream|application\/json)\b/i.test(type)) {
      response.body?.cancel().catch(() => {});
      throw new AgentError(
        'MODEL_BAD_RESPONSE',
        `The model server answers with ${JSON.stringify(type)}.`,
      );
    }
    const clean = response.body.pipeThrough(redactStream(secrets));
    if (/^text\//i.test(type))
      return streamResponse(byteSource(clean), { kind: 'model', keepAliveMs });
    return new Response(clean, {
      headers: { 'content-type': type, 'x-accel-buffering': 'no' },
    });
  } catch (thrown) {
    // Drops the cause, because errors of the runtime may quote a header value.
    const { code, message, retryable } = AgentError.from(thrown, 'MODEL_UNREACHABLE');
    throw new AgentError(code, message, { retryable });
  }
}

/**
 * Sends the request to the model's server. Aborts the request if the client disconnects, or if the
 * answer does not begin in time.
 */
async function ask(
  c: Context<EdgeEnv>,
  url: string,
  body: string,
  upstream: LlmUpstream,
  timeoutMs: number,
): Promise<Response> {
  const { apiKey, headers, fetch: send = fetch } = upstream;
  const controller = new AbortController();
  onDisconnect(c, () => controller.abort(new AgentError('ABORTED', 'The client has gone.')));
  const timer = setTimeout(
    () =>
      controller.abort(
        new AgentError('MODEL_TIMEOUT', `The model server did not answer within ${timeoutMs} ms.`, {
          retryable: true,
        }),
      ),
    timerMs(timeoutMs),
  );
  try {
    return await send(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      body,
      signal: controller.signal,
      // Does not follow redirects, because another server would get the key.
      redirect: 'manual',
    });
  } catch (error) {
    const { reason } = controller.signal as { readonly reason: unknown };
    if (AgentError.is(reason)) throw reason;
    throw new AgentError(
      'MODEL_UNREACHABLE',
      `The model server could not be reached: ${errorText(error)}`,
      { retryable: true },
    );
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the response to an error of the model's server. The text of the server's error goes only
 * to the Worker's log. An error in the client's request gets 400. Clients learn how long to wait,
 * and whether another try may help.
 */
async function upstreamErrorResponse(
  response: Response,
  requestId: string,
  timeoutMs: number,
): Promise<Response> {
  const { status, headers } = response;
  const errorStart = await startOf(response, Math.min(timeoutMs, 5000));
  const { code, retryable, details } = errorOfResponse(status, headers, errorStart);
  const message = `HTTP ${status} from the model server: ${errorStart}`;
  return errorResponse(new AgentError(code, message, { retryable, details }), {
    requestId,
    errorFormat: 'openai',
    headers: { 'x-should-retry': String(retryable) },
    ...(code === 'MODEL_REQUEST' && { status: 400 }),
  });
}

/** Returns the start of a text. Stops after `timeoutMs`, because the text may never end. */
async function startOf({ body }: Response, timeoutMs: number): Promise<string> {
  if (!body) return '';
  const decoder = new TextDecoder();
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => {});
  const timer = setTimeout(stop, timerMs(timeoutMs));
  let text = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += decoder.decode(read.value, { stream: true });
      if (text.length > 8000) break;
    }
  } catch {
    // The body only adds details, so an error while reading it is ignored.
  } finally {
    clearTimeout(timer);
    stop();
  }
  return text.slice(0, 8000).trim().replace(/\s+/g, ' ');
}

/**
 * Headers that only describe the caller or the request. Their values, such as an address or a name,
 * are not secret and must not be removed from answers.
 */
const publicHeader =
  /^(accept.*|content-type|user-agent|(http-)?referer|origin|(x-)?title|.*-version)$/i;

function secretsOf({ apiKey, headers = {} }: LlmUpstream): readonly string[] {
  const values = Object.entries(headers).map(([name, value]) =>
    publicHeader.test(name) ? '' : value.replace(/^Bearer /i, ''),
  );
  // Shorter values are not secrets. Removing them would damage answers that contain the same words.
  return [apiKey ?? '', ...values]
    .filter(({ length }) => length >= 8)
    .toSorted((one, other) => other.length - one.length);
}
