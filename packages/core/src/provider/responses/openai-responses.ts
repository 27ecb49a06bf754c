import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { JsonObject } from '../../message/json.ts';
import type { ChatModel, ModelFeatures } from '../../model/chat-model.ts';
import { authorization, type ApiKey } from '../authorization.ts';
import { streamReply, type Fetch } from '../http-transport.ts';
import { ResponsesDecoder } from './responses-decoder.ts';
import { responsesFormatter } from './responses-formatter.ts';

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
      'previousResponse:boolean|? timeoutMs:count|?',
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
    async *stream(request, { signal, replyLength }) {
      const headers = { ...(await authorization(options.apiKey)), ...options.headers };
      const send = (whole: boolean) => {
        const { body, continues, inputSum } = formatter.format(request, { whole });
        const decoder = new ResponsesDecoder({ origin, inputSum });
        const about = { url, headers, body, fetch: options.fetch, signal, timeoutMs, replyLength };
        return { continues, deltas: streamReply(about, decoder) };
      };
      const { continues, deltas } = send(false);
      try {
        yield* deltas;
      } catch (error) {
        // The provider refuses the id before the reply begins, so no delta is repeated.
        if (!continues || !isExpired(error)) throw error;
        yield* send(true).deltas;
      }
    },
  };
}

/** OpenAI's models without reasoning. */
const withoutReasoning = /^(gpt-3|gpt-4|chatgpt-|gpt-[\d.]+-chat|ft:gpt-[34])/;

function isExpired(error: unknown): boolean {
  if (!AgentError.is(error)) return false;
  return (
    error.details?.['providerCode'] === 'previous_response_not_found' ||
    (error.details?.['status'] === 404 && /previous.?response/i.test(error.message))
  );
}
