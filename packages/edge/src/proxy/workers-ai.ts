import { messageOf } from '@isoloop/core';
import type { ChatModel, ModelFeatures } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { toChunks } from './workers-ai-stream.ts';

/** The part of the Workers AI binding that this module uses. */
export interface WorkersAiBinding {
  run(model: string, inputs: object, options: object): Promise<unknown>;
}

export interface WorkersAiOptions {
  /** Model name, `@cf/…`. */
  readonly model: string;
  /** AI Gateway for the requests; default: none. */
  readonly gateway?: {
    readonly id: string;
    readonly skipCache?: boolean;
    readonly cacheTtl?: number;
  };
  /**
   * Model features; default: tools and images, no known window. For a model without tools:
   * `{ tools: false }`.
   */
  readonly features?: Partial<ModelFeatures>;
  /** Longest silence in milliseconds, before the reply and within it. Default 5 minutes. */
  readonly timeoutMs?: number;
}

/**
 * Creates a model of Workers AI from the Worker's binding (`[ai]` in `wrangler.toml`): no key, no
 * address. Reads both of its stream formats, its own and chat completions. Rejects as `openai()`
 * does.
 */
export function workersAi(ai: WorkersAiBinding, options: WorkersAiOptions): ChatModel {
  const { model, gateway, features, timeoutMs } = options;
  const send = async (_url: string, { body, signal }: RequestInit): Promise<Response> => {
    const inputs = toInputs(JSON.parse(String(body)) as WireRequest);
    try {
      const reply = await ai.run(model, inputs, {
        ...(gateway && { gateway }),
        signal,
        returnRawResponse: true,
      });
      return toResponse(reply);
    } catch (error) {
      if (signal?.aborted) throw error;
      return refusal(error);
    }
  };
  const inner = openai({
    model,
    baseURL: 'https://workers-ai.binding/v1',
    fetch: send,
    maxTokensField: 'max_tokens',
    features: { media: ['image'], ...features },
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  return { ...inner, provider: 'workers-ai' };
}

interface WireRequest {
  readonly model?: string;
  readonly stream_options?: object;
  readonly messages?: readonly { readonly content?: unknown }[];
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
  readonly tool_choice?: unknown;
}

/**
 * Converts a request for the binding, which refuses `content: null` and a tool choice by name. For
 * a named tool, only that tool is offered, and a call is required.
 */
function toInputs({
  model: _model,
  stream_options: _options,
  messages = [],
  tools,
  tool_choice: choice,
  ...rest
}: WireRequest): object {
  const { function: named } = Object(choice) as { readonly function?: { readonly name?: string } };
  return {
    ...rest,
    messages: messages.map((message) =>
      message.content === null ? { ...message, content: '' } : message,
    ),
    ...(tools && {
      tools: named ? tools.filter((tool) => tool.function?.name === named.name) : tools,
    }),
    ...(choice !== undefined && { tool_choice: named ? 'required' : choice }),
  };
}

/**
 * Converts the binding's reply: a response, a stream of events or a whole reply, depending on the
 * model.
 */
function toResponse(reply: unknown): Response {
  if (reply instanceof Response)
    return reply.ok && reply.body ? new Response(toChunks(reply.body), reply) : reply;
  if (reply instanceof ReadableStream)
    return new Response(toChunks(reply as ReadableStream<Uint8Array>));
  return new Response(toChunks(new Response(JSON.stringify(reply)).body!));
}

/**
 * Creates the response for an error. The binding's errors contain their number: `3040: Capacity
 * temporarily exceeded`.
 */
function refusal(error: unknown): Response {
  const message = messageOf(error);
  const code = /\b(\d{4,5})\b/.exec(message)?.[1] ?? '';
  return Response.json({ error: { message, code } }, { status: statusOf[code] ?? 500 });
}

/** HTTP statuses by error number, from the Workers AI documentation. */
const statusOf: Readonly<Record<string, number>> = {
  '3003': 400,
  '3006': 413,
  '3007': 408,
  '3008': 408,
  '3023': 403,
  '3036': 429,
  '3039': 400,
  '3040': 429,
  '3041': 403,
  '3042': 404,
  '5004': 400,
  '5005': 405,
  '5007': 400,
  '5016': 403,
  '5018': 403,
  '5019': 405,
};
