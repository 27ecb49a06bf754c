import { messageOf } from '@isoloop/core';
import type { ChatModel, ModelFeatures } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { toChunks } from './workers-ai-stream.ts';

/** What of the Workers AI binding is used. */
export interface WorkersAiBinding {
  run(model: string, inputs: object, options: object): Promise<unknown>;
}

export interface WorkersAiOptions {
  /** `@cf/…`. */
  readonly model: string;
  /** Requests go through this AI Gateway. */
  readonly gateway?: {
    readonly id: string;
    readonly skipCache?: boolean;
    readonly cacheTtl?: number;
  };
  /** Default: tools and images, no known window. A model without tools: `{ tools: false }`. */
  readonly features?: Partial<ModelFeatures>;
  /** Longest silence in milliseconds, before the reply and within it. Default 5 minutes. */
  readonly timeoutMs?: number;
}

/**
 * A model of Workers AI by the Worker's binding (`[ai]` in `wrangler.toml`): no key, no address.
 * Takes both of its stream formats, its own and chat completions. Rejects as `openai()` does.
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
 * The binding refuses `content: null` and a tool by name: that tool alone is offered then, and one
 * is required.
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

/** A response, a stream of events, or a whole reply: what the binding gives differs by model. */
function toResponse(reply: unknown): Response {
  if (reply instanceof Response)
    return reply.ok && reply.body ? new Response(toChunks(reply.body), reply) : reply;
  if (reply instanceof ReadableStream)
    return new Response(toChunks(reply as ReadableStream<Uint8Array>));
  return new Response(toChunks(new Response(JSON.stringify(reply)).body!));
}

/** The binding's errors say their number: `3040: Capacity temporarily exceeded`. */
function refusal(error: unknown): Response {
  const message = messageOf(error);
  const code = /\b(\d{4,5})\b/.exec(message)?.[1] ?? '';
  return Response.json({ error: { message, code } }, { status: statusOf[code] ?? 500 });
}

/** From the table of errors in the documentation of Workers AI. */
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
