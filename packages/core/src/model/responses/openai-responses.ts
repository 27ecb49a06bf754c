import { invalidInput } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { array, boolean, object, optional } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { JsonObject } from '../../message/json.ts';
import {
  defaultFeatures,
  type ChatModel,
  type ModelFeatures,
  type ModelRequest,
} from '../chat-model.ts';
import { checkedBase, hostOf } from '../http/base-url.ts';
import {
  httpModelOptions,
  otherModelNames,
  type HttpModelOptions,
  httpRequest,
} from '../http/http-model.ts';
import { defaultBaseURL, openAiServices } from '../openai/openai.ts';
import { streamInBackground } from './background.ts';
import { responsesFormatter } from './responses-formatter.ts';
import { streamExchange } from './stream-exchange.ts';

/**
 * Options of `openaiResponses()`: the model, the server and its key, reasoning and built-in tools.
 */
export interface OpenAiResponsesOptions extends HttpModelOptions {
  /** Address of any server with the Responses API. Default: `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /** Features of the model. Default: tools, images and files, and no known context window. */
  readonly features?: Partial<ModelFeatures>;
  /** How much the model thinks, and whether it sends a summary. Default: the server's own. */
  readonly reasoning?: {
    readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
    readonly summary?: 'auto' | 'concise' | 'detailed';
  };
  /** Tools that the provider runs, such as `{ type: 'web_search' }`, for each request. */
  readonly builtInTools?: readonly JsonObject[];
  /**
   * Whether to ask for encrypted reasoning and to send it back. OpenAI's models without reasoning
   * refuse it. Default: false for GPT-4, older models and `…-chat-latest`, true for all others.
   */
  readonly encryptedReasoning?: boolean;
  /**
   * Whether the provider stores responses (`store: true`). A request then names the last response
   * and sends only the new messages. If the conversation was changed, the request sends all
   * messages. Default: false.
   */
  readonly previousResponse?: boolean;
  /**
   * Whether the provider finishes a reply even if this process dies. The provider then stores the
   * response, and the session's log keeps the response's id. The next process reads the same reply.
   * An abort, interrupt or timeout cancels the reply. Works only if the agent's memory stores at
   * once: not in KV, and not with `durability: 'turn'`. Default: false.
   */
  readonly background?: boolean;
}

/**
 * Creates a model for the Responses API of OpenAI, xAI, Ollama, vLLM or LM Studio. Its stream
 * rejects with the codes of `openai()`. Rejects with `INVALID_INPUT` for a request with `seed` or
 * `stop`, which the API does not have.
 *
 * @example
 * const model = openaiResponses({ model: 'gpt-5-mini', apiKey });
 */
export function openaiResponses(options: OpenAiResponsesOptions): ChatModel {
  checkOptions(
    'openaiResponses()',
    options,
    openAiResponsesOptions,
    'CONFIGURATION',
    otherModelNames,
  );
  const { model, baseURL = defaultBaseURL } = options;
  const url = `${checkedBase(baseURL, openAiServices)}/responses`;
  const features: ModelFeatures = { ...defaultFeatures, ...options.features };
  const origin = hostOf(url);
  const formatter = responsesFormatter({
    model,
    origin,
    features,
    reasoning: options.reasoning,
    builtInTools: options.builtInTools ?? [],
    encryptedReasoning: options.encryptedReasoning ?? !withoutReasoning.test(model),
    previousResponse: options.previousResponse ?? false,
  });

  return {
    provider: 'openai',
    modelId: model,
    features,
    async *stream(request, context) {
      refuseUnsupported(request);
      const http = { ...(await httpRequest(options, context)), url };
      const exchange = { http, origin, model, formatter, request };
      if (options.background && context.replySlot)
        yield* streamInBackground({ ...exchange, replySlot: context.replySlot });
      else yield* streamExchange(exchange);
    },
  };
}

const openAiResponsesOptions: OptionTable<OpenAiResponsesOptions> = {
  ...httpModelOptions,
  features: optional(object),
  reasoning: optional(object),
  builtInTools: optional(array),
  encryptedReasoning: optional(boolean),
  previousResponse: optional(boolean),
  background: optional(boolean),
};

/**
 * Throws `INVALID_INPUT` for a setting that the API does not have. To ignore the setting would
 * change the reply.
 */
function refuseUnsupported({ seed, stop = [] }: ModelRequest): void {
  if (seed === undefined && !stop.length) return;
  const name = stop.length ? 'stop' : 'seed';
  const what = `openaiResponses(): the Responses API has no \`${name}\`.`;
  throw invalidInput(`${what} Remove it, or use openai().`);
}

/** OpenAI's models without reasoning. */
const withoutReasoning = /^(gpt-3|gpt-4|chatgpt-|gpt-[\d.]+-chat|ft:gpt-[34])/;
