import { AgentError, InMemoryMemory } from '@isoloop/core';
import type { AgentInput, AgentResult, AgentStream, CallOptions, EventBatch, GenerateOptions, ReActAgent } from '@isoloop/core';
import { createOpenAiEncoder, toChatCompletion, toOpenAiError } from '@isoloop/core/openai';
import type { OpenAiEncoderOptions } from '@isoloop/core/openai';
import type { Context } from 'hono';
import { readClientTools, refuseOwnNames, withClientTools } from './client-tools.ts';
import { checkConversation, readPosted, readTail, withoutSystem } from './completion-messages.ts';
import { logError } from './error-response.ts';
import { awaitOpening, eventStream, eventStreamHeaders, hasOutput } from './event-stream.ts';
import type { EdgeEnv, EdgeLimits, HandlerSettings } from './handler-options.ts';
import { checkModel, invalidField, readJson, readMessages } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { onDisconnect, waitUntil } from './request-context.ts';
import { readResponseFormat } from './response-format.ts';
import { makeAgent } from './session-agent.ts';
import { checkSession, echoHeader, echoOf, openMemory, readEcho } from './session.ts';

/** Names a stored session; without it a request to `/v1` is all the conversation there is. */
export const sessionHeader = 'x-isoloop-session';

/**
 * `POST /v1/chat/completions`: the agent as an OpenAI model. Stateless: the posted messages are the whole history; with
 * `x-isoloop-session` the history is the server's, and of the posted messages those behind the last of the assistant count. The agent's
 * tools run here and do not show; calls of the client's own end the run and go out as `tool_calls`. A client that goes away ends the run.
 */
export async function completionsRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const { limits } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const model = checkModel(body['model'], settings.models);
  refuseUnsupported(body);
  const clientTools = readClientTools(body);
  const format = readResponseFormat(body, settings.jsonSchema);
  const output = withClientTools(clientTools, format);
  const generate = generateOptions(body, limits);
  const { stream: streams, includeUsage } = readStreaming(body);
  const posted = readPosted(readMessages(body, limits.messages), limits);
  const said = settings.systemMessages === 'keep' ? posted : withoutSystem(posted);

  const id = `chatcmpl-${crypto.randomUUID()}`;
  const session = c.req.header(sessionHeader);
  const setup = { env: c.env, user: c.get('user'), session: session === undefined ? id : checkSession(session) };
  const memory = session === undefined ? new InMemoryMemory(said) : await openMemory(settings, { ...setup, ...readEcho(c) });
  const { agent } = await makeAgent(settings, { ...setup, memory, model });
  const names = clientTools.tools.map(({ name }) => name);
  refuseOwnNames(agent, names, 'tools');
  if (session === undefined) checkConversation(posted, agent);
  const input = session === undefined ? undefined : await newInput(agent, posted, settings);

  const controller = new AbortController();
  onDisconnect(c, () => controller.abort());
  const options: CallOptions = { ...generate, ...(output && { output }), signal: controller.signal };
  const run = agent.stream(input, options);
  const completion = { model, id, created: Math.floor(Date.now() / 1000) };
  if (streams)
    return streamed(c, settings, run, {
      ...completion,
      includeUsage,
      wholeText: format !== undefined,
      isExternal: (name) => names.includes(name),
    });
  const result = await run.result;
  const waits = waitsHere(result);
  if (waits) throw waits;
  const echo = echoOf(memory);
  return Response.json(toChatCompletion(result, completion), {
    headers: { 'cache-control': 'no-store', ...(echo !== undefined && { [echoHeader]: echo }) },
  });
}

async function newInput(agent: ReActAgent, posted: HandlerInput, settings: HandlerSettings): Promise<AgentInput> {
  const tail = await readTail(posted, agent);
  const isMessages = tail.every((item) => 'role' in item);
  return isMessages && settings.systemMessages !== 'keep' ? withoutSystem(tail) : tail;
}

type HandlerInput = Parameters<typeof readTail>[0];

async function streamed(
  c: Context<EdgeEnv>,
  { limits }: HandlerSettings,
  stream: AgentStream,
  completion: OpenAiEncoderOptions,
): Promise<Response> {
  const encoder = createOpenAiEncoder(completion);
  const encode = (batch: EventBatch): readonly object[] => {
    const chunks = encoder.encode(batch);
    const waits = batch.map((event) => event.type === 'run-end' && event.agentPath.length < 2 && waitsHere(event.result)).find(Boolean);
    return waits
      ? [...chunks.filter((chunk) => 'choices' in chunk && chunk.choices[0]?.finish_reason === null), toOpenAiError(waits)]
      : chunks;
  };
  const batches = await awaitOpening(stream.batches()[Symbol.asyncIterator](), hasOutput);
  const requestId = c.get('requestId');
  return new Response(
    eventStream({
      batches,
      encode,
      keepAliveMs: limits.keepAliveMs,
      onCancel: () => waitUntil(c, stream.cancel()),
      onError: (error) => logError(error, requestId),
    }),
    { headers: eventStreamHeaders },
  );
}

/** A run that waits for what no client of this API can give, such as an approval. */
function waitsHere({ pending }: AgentResult): AgentError | undefined {
  if (!pending.length || pending.some(({ kind }) => kind === 'external')) return undefined;
  const names = [...new Set(pending.map(({ name }) => name))].join(', ');
  return new AgentError('PENDING_TOOL_CALLS', `The agent waits for a decision that cannot be given here, about: ${names}.`);
}

/** What would change the answer's meaning if it were passed over. */
function refuseUnsupported(body: RequestBody): void {
  for (const field of ['functions', 'function_call', 'audio', 'web_search_options']) {
    const value = body[field];
    if (Array.isArray(value) ? value.length : value != null) throw invalidField(field, 'is not supported');
  }
  if (body['n'] != null && body['n'] !== 1) throw invalidField('n', 'must be 1: there is one answer');
  if (body['logprobs'] != null && body['logprobs'] !== false) throw invalidField('logprobs', 'must be false: there are none');
  const { stop, modalities } = body;
  if (Array.isArray(stop) ? stop.length : stop != null) throw invalidField('stop', 'is not supported: an answer may be of several replies');
  if (modalities != null && !(Array.isArray(modalities) && modalities.every((kind) => kind === 'text'))) {
    throw invalidField('modalities', 'must be ["text"]');
  }
}

function readStreaming({ stream, stream_options: options }: RequestBody): { readonly stream: boolean; readonly includeUsage: boolean } {
  if (stream != null && typeof stream !== 'boolean') throw invalidField('stream', 'must be a boolean');
  if (options != null && (typeof options !== 'object' || Array.isArray(options))) throw invalidField('stream_options', 'must be an object');
  if (options != null && stream !== true) throw invalidField('stream_options', 'needs `stream: true`');
  const { include_usage: includeUsage } = Object(options) as { readonly include_usage?: unknown };
  if (includeUsage != null && typeof includeUsage !== 'boolean') throw invalidField('stream_options.include_usage', 'must be a boolean');
  return { stream: stream === true, includeUsage: includeUsage === true };
}

function generateOptions(body: RequestBody, { outputTokens }: EdgeLimits): GenerateOptions {
  const temperature = number(body, 'temperature', (value) => value >= 0 && value <= 2, 'a number from 0 to 2');
  const isCount = (value: number): boolean => Number.isInteger(value) && value > 0;
  const maxTokens =
    number(body, 'max_completion_tokens', isCount, 'a positive integer') ?? number(body, 'max_tokens', isCount, 'a positive integer');
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens: Math.min(maxTokens, outputTokens) }),
  };
}

function number(body: RequestBody, field: string, isValid: (value: number) => boolean, expected: string): number | undefined {
  const value = body[field];
  if (value == null) return undefined;
  if (typeof value !== 'number' || !isValid(value)) throw invalidField(field, `must be ${expected}`);
  return value;
}
