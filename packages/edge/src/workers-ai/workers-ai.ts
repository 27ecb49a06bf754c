import { errorText, type ChatModel, type ModelFeatures } from '@isoloop/core';
import {
  checkOptions,
  string,
  object,
  optional,
  boolean,
  nonNegative,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { openai } from '@isoloop/core/openai';
import { toChunks } from './workers-ai-stream.ts';

/** Part of the Workers AI binding that `workersAi` uses. */
export interface WorkersAiBinding {
  run(model: string, inputs: object, options: object): Promise<unknown>;
}

/** Which model of Workers AI to use, through which gateway, and what it supports. */
export interface WorkersAiOptions {
  /** Model name, such as `@cf/…`. */
  readonly model: string;
  /** AI Gateway for the requests. Default: none. */
  readonly gateway?: {
    readonly id: string;
    readonly skipCache?: boolean;
    readonly cacheTtl?: number;
  };
  /**
   * Features of the model. Default: tools and images, and no known size of the context window. For
   * a model without tools, set `{ tools: false }`.
   */
  readonly features?: Partial<ModelFeatures>;
  /**
   * Whether the model writes its thinking into the text, between `<think>` and `</think>`. Default:
   * false.
   */
  readonly thinkTags?: boolean;
  /**
   * Maximum time without data, before and during the reply, in milliseconds. Default: 300,000,
   * which is 5 minutes.
   */
  readonly timeoutMs?: number;
}

/**
 * Creates a model of Workers AI from the Worker's binding (`[ai]` in `wrangler.toml`), without an
 * API key. Reads both stream formats of Workers AI: its own format and chat completions. Rejects
 * with the same errors as `openai()`. Throws `CONFIGURATION` without a binding.
 */
export function workersAi(ai: WorkersAiBinding, options: WorkersAiOptions): ChatModel {
  checkOptions('workersAi()', options, workersAiOptions);
  checkOptions('workersAi()', { binding: ai }, workersAiBinding);
  const { model, gateway, features, thinkTags = false, timeoutMs } = options;
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
      return bindingErrorResponse(error);
    }
  };
  const openaiModel = openai({
    model,
    baseURL: 'https://workers-ai.binding/v1',
    fetch: send,
    maxTokensField: 'max_tokens',
    thinkTags,
    features: { media: ['image'], ...features },
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  return { ...openaiModel, provider: 'workers-ai' };
}

const workersAiBinding: OptionTable<{ readonly binding: WorkersAiBinding }> = {
  binding: withMethod('run'),
};

const workersAiOptions: OptionTable<WorkersAiOptions> = {
  model: string,
  gateway: optional(object),
  features: optional(object),
  thinkTags: optional(boolean),
  timeoutMs: optional(nonNegative),
};

interface WireRequest {
  readonly model?: string;
  readonly stream_options?: object;
  readonly messages?: readonly { readonly content?: unknown }[];
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
  readonly tool_choice?: unknown;
}

/**
 * Converts a chat-completions request for the binding, which refuses `content: null` and the name
 * of a tool as tool choice. If the tool choice names a tool, offers only that tool and requires a
 * tool call.
 */
function toInputs({
  model: _model,
  stream_options: _options,
  messages = [],
  tools,
  tool_choice: choice,
  ...rest
}: WireRequest): object {
  const { function: chosenFunction } = Object(choice) as {
    readonly function?: { readonly name?: string };
  };
  return {
    ...rest,
    messages: messages.map((message) =>
      message.content === null ? { ...message, content: '' } : message,
    ),
    ...(tools && {
      tools: chosenFunction
        ? tools.filter((tool) => tool.function?.name === chosenFunction.name)
        : tools,
    }),
    ...(choice !== undefined && { tool_choice: chosenFunction ? 'required' : choice }),
  };
}

/**
 * Converts a reply of the binding to a response. Depending on the model, the reply is a `Response`,
 * a stream of events or a whole object.
 */
function toResponse(reply: unknown): Response {
  if (reply instanceof Response)
    return reply.ok && reply.body ? new Response(toChunks(reply.body), reply) : reply;
  if (reply instanceof ReadableStream)
    return new Response(toChunks(reply as ReadableStream<Uint8Array>));
  return new Response(toChunks(new Response(JSON.stringify(reply)).body!));
}

/**
 * Creates the response for an error of the binding. The error number is in the message, as in
 * `3040: Capacity temporarily exceeded`.
 */
function bindingErrorResponse(error: unknown): Response {
  const message = errorText(error);
  const code = /\b(\d{4,5})\b/.exec(message)?.[1] ?? '';
  return Response.json({ error: { message, code } }, { status: statusOf[code] ?? 500 });
}

/** HTTP status of each error number, from the Workers AI documentation. */
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
