import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { JsonObject } from '../../message/json.ts';
import type { ChatModel, ModelFeatures } from '../../model/chat-model.ts';
import { authorization, type ApiKey } from '../authorization.ts';
import type { Fetch } from '../http-transport.ts';
import { streamInBackground } from './background.ts';
import { responsesFormatter } from './responses-formatter.ts';
import { streamResponse } from './stream-response.ts';

export interface OpenAiResponsesOptions {
  readonly model: string;
  /**
   * Key sent as `Authorization: Bearer …`; a function is called before each request. Without a key,
   * the header is not sent.
   */
  readonly apiKey?: ApiKey;
  /** Address of a server that has `/responses`. Default `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /** Headers added to each request. They override the library's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch;
  /** Default: tools, images and files, no known window. */
  readonly features?: Partial<ModelFeatures>;
  /** How long the model thinks, and whether it shows a summary. Default: the server's. */
  readonly reasoning?: {
    readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
    readonly summary?: 'auto' | 'concise' | 'detailed';
  };
  /** Tools that the provider runs, such as `{ type: 'web_search' }`, added to each request. */
  readonly builtInTools?: readonly JsonObject[];
  /**
   * Whether to ask for encrypted reasoning and send it back. Default: true, except for OpenAI's
   * models without reasoning (GPT-4 and older, `…-chat-latest`), which refuse it.
   */
  readonly encryptedReasoning?: boolean;
  /**
   * Whether the provider stores responses (`store: true`). A request then names the last response
   * and sends only what is new. After a change of the conversation it sends all of it. Default
   * false: the provider stores nothing.
   */
  readonly previousResponse?: boolean;
  /**
   * Whether the provider continues to write a reply when this process dies (`background: true`,
   * which stores the response). The session's log keeps the response's id, and a later process reads the
   * same reply. An abort, interrupt or timeout cancels it. Ignored if the agent's memory does not
   * store at once (KV, `durability: 'turn'`), and for requests outside of the loop. Default false.
   */
  readonly background?: boolean;
  /**
   * Longest silence of the server, in milliseconds, before and during the reply. Only content ends a
   * silence; comments and empty chunks do not. Default 5 minutes; `Infinity` means no limit.
   */
  readonly timeoutMs?: number;
}

/**
 * Creates a model for the Responses API of OpenAI, xAI, Ollama, vLLM or LM Studio. Its stream rejects
 * with the codes of `openai()`.
 */
export function openaiResponses(options: OpenAiResponsesOptions): ChatModel {
  if (typeof options === 'string') {
    const message =
      "openaiResponses() takes options: openaiResponses({ model: 'gpt-5.4' }); got a string.";
    throw new AgentError('CONFIGURATION', message);
  }
  checkOptions(
    'CONFIGURATION',
    'openaiResponses()',
    options,
    'model:string apiKey:string|function|? baseURL:string|? headers:object|? fetch:function|? ' +
      'features:object|? reasoning:object|? builtInTools:array|? encryptedReasoning:boolean|? ' +
      'previousResponse:boolean|? background:boolean|? timeoutMs:count|?',
  );
  const { model, baseURL = 'https://api.openai.com/v1', timeoutMs = 300_000 } = options;
  const url = `${baseURL.replace(/\/+$/, '')}/responses`;
  const origin = URL.canParse(url) ? new URL(url).host : url;
  const features: ModelFeatures = { tools: true, media: ['image', 'file'], ...options.features };
  const formatter = responsesFormatter({
    model,
    origin,
    features,
    reasoning: options.reasoning,
    builtInTools: options.builtInTools,
    encryptedReasoning: options.encryptedReasoning ?? !withoutReasoning.test(model),
    previousResponse: options.previousResponse ?? false,
  });

  return {
    provider: 'openai',
    modelId: model,
    features,
    async *stream(request, context) {
      const headers = { ...(await authorization(options.apiKey)), ...options.headers };
      const { signal, replyLength } = context;
      const http = { url, headers, fetch: options.fetch, signal, timeoutMs, replyLength };
      const exchange = { http, origin, model, formatter, request };
      if (options.background && context.kept)
        yield* streamInBackground({ ...exchange, kept: context.kept });
      else yield* streamResponse(exchange);
    },
  };
}

/** OpenAI's models without reasoning. */
const withoutReasoning = /^(gpt-3|gpt-4|chatgpt-|gpt-[\d.]+-chat|ft:gpt-[34])/;
