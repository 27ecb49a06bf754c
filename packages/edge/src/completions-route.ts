import { InMemoryMemory } from '@isoloop/core';
import type { AgentStream, GenerateOptions } from '@isoloop/core';
import { createOpenAiEncoder, fromOpenAiMessages, toChatCompletion } from '@isoloop/core/openai';
import type { OpenAiEncoderOptions } from '@isoloop/core/openai';
import type { Context } from 'hono';
import { logError } from './error-response.ts';
import { awaitOpening, eventStream, eventStreamHeaders, hasOutput } from './event-stream.ts';
import type { EdgeEnv, HandlerSettings } from './handler-options.ts';
import { checkModel, invalidField, readJson, readMessages } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { onDisconnect, waitUntil } from './request-context.ts';

/**
 * `POST /v1/chat/completions`: the agent as an OpenAI model. Stateless: the posted messages are the whole history, and a client that
 * goes away ends the run. The agent's tools run here and do not show.
 */
export async function completionsRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const body = await readJson(c.req.raw, settings.limits.bodyBytes);
  const model = checkModel(body['model'], settings.models);
  refuseUnsupported(body);
  const memory = new InMemoryMemory(fromOpenAiMessages(readMessages(body, settings.limits.messages)));
  const id = `chatcmpl-${crypto.randomUUID()}`;
  const agent = await settings.agent({ env: c.env, session: id, user: c.get('user'), memory, model });

  const controller = new AbortController();
  onDisconnect(c, () => controller.abort());
  const stream = agent.stream(undefined, { ...generateOptions(body), signal: controller.signal });
  const completion = { model, id, created: Math.floor(Date.now() / 1000) };
  if (body['stream'] !== true) return Response.json(toChatCompletion(await stream.result, completion));
  return streamed(c, settings, stream, { ...completion, includeUsage: Object(body['stream_options']).include_usage === true });
}

async function streamed(
  c: Context<EdgeEnv>,
  { limits }: HandlerSettings,
  stream: AgentStream,
  completion: OpenAiEncoderOptions,
): Promise<Response> {
  const encoder = createOpenAiEncoder(completion);
  const batches = await awaitOpening(stream.batches()[Symbol.asyncIterator](), hasOutput);
  const requestId = c.get('requestId');
  return new Response(
    eventStream({
      batches,
      encode: (batch) => encoder.encode(batch),
      keepAliveMs: limits.keepAliveMs,
      onCancel: () => waitUntil(c, stream.cancel()),
      onError: (error) => logError(error, requestId),
    }),
    { headers: eventStreamHeaders },
  );
}

/** What would change the answer's meaning if it were passed over. */
function refuseUnsupported(body: RequestBody): void {
  for (const field of ['tools', 'functions']) {
    const value = body[field];
    if (Array.isArray(value) ? value.length : value != null) {
      throw invalidField(field, "is not supported yet: the client's own tools cannot be called, the agent has its own");
    }
  }
  if (body['n'] != null && body['n'] !== 1) throw invalidField('n', 'must be 1: there is one answer');
  const format: unknown = Object(body['response_format']).type;
  if (format !== undefined && format !== 'text') throw invalidField('response_format', 'must be of the type "text"');
}

function generateOptions(body: RequestBody): GenerateOptions {
  const temperature = number(body, 'temperature', (value) => value >= 0 && value <= 2, 'a number from 0 to 2');
  const isCount = (value: number): boolean => Number.isInteger(value) && value > 0;
  const maxTokens =
    number(body, 'max_completion_tokens', isCount, 'a positive integer') ?? number(body, 'max_tokens', isCount, 'a positive integer');
  return { ...(temperature === undefined ? {} : { temperature }), ...(maxTokens === undefined ? {} : { maxTokens }) };
}

function number(body: RequestBody, field: string, isValid: (value: number) => boolean, expected: string): number | undefined {
  const value = body[field];
  if (value == null) return undefined;
  if (typeof value !== 'number' || !isValid(value)) throw invalidField(field, `must be ${expected}`);
  return value;
}
