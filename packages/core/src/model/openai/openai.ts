import { checkOptions } from '../../error/options/check-options.ts';
import { anything, object, optional } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { defaultFeatures, type ChatModel, type ModelFeatures } from '../chat-model.ts';
import { checkedBase, hostOf } from '../http/base-url.ts';
import {
  httpModelOptions,
  otherModelNames,
  httpModel,
  type HttpModelOptions,
} from '../http/http-model.ts';
import { openAiFormatter, type OpenAiFormatterOptions } from './openai-formatter.ts';
import { isOpenAiThinker } from '../formatter/refused-settings.ts';
import { signerOf } from './kept-fields.ts';

export const defaultBaseURL = 'https://api.openai.com/v1';

/** Paths of the services, which a model adds to the base URL. */
export const openAiServices: RegExp = /\/(chat\/completions|responses)$/;

/** Options of `openai()`: the model, the server and its key, and what the server differs in. */
export interface OpenAiOptions extends HttpModelOptions {
  /** Address of any server with the chat-completions API. Default: `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /** Features of the model. Default: tools, images and files, and no known context window. */
  readonly features?: Partial<ModelFeatures>;
  /**
   * Name of the request field for `maxTokens`. Default: `max_completion_tokens` for OpenAI,
   * Azure and OpenAI's thinking models on any server, else `max_tokens`.
   */
  readonly maxTokensField?: OpenAiFormatterOptions['maxTokensField'];
  /**
   * Whether to send the model's thinking back: as `reasoning_content` or, with `thinkTags`, within
   * the text. Default: true for servers that require it, such as DeepSeek, Kimi and MiniMax.
   */
  readonly sendThinking?: boolean;
  /**
   * Whether the model writes its thinking into the text, between `<think>` and `</think>`. It then
   * becomes thinking. Default: true for servers known for it, such as MiniMax.
   */
  readonly thinkTags?: boolean;
  /**
   * Whether to ask for token counts. Set false if the server refuses `stream_options`. Default:
   * true.
   */
  readonly includeUsage?: boolean;
}

/**
 * Creates a model for any server with the API of OpenAI's chat completions, such as Ollama or vLLM.
 * Its stream rejects with the `MODEL_…` codes of `AgentErrorCode`, or `ABORTED`. It rejects with
 * `CONFIGURATION` if the key has characters that a header cannot contain. Throws `CONFIGURATION`
 * for a wrong option, such as a `baseURL` without a scheme.
 *
 * @example
 * const model = openai({ model: 'gpt-5-mini', apiKey });
 * const local = openai({ baseURL: 'http://127.0.0.1:11434/v1', model: 'qwen3' });
 */
export function openai(options: OpenAiOptions): ChatModel {
  checkOptions('openai()', options, openAiOptions, 'CONFIGURATION', otherModelNames);
  const { baseURL = defaultBaseURL } = options;
  const url = `${checkedBase(baseURL, openAiServices)}/chat/completions`;
  const features: ModelFeatures = { ...defaultFeatures, ...options.features };
  const formatter = openAiFormatter({
    ...options,
    features,
    origin: signerOf(hostOf(url), options.model),
    maxTokensField: options.maxTokensField ?? maxTokensFieldOf(url, options.model),
  });
  return httpModel(options, { provider: 'openai', features, formatter, url: () => url });
}

const openAiOptions: OptionTable<OpenAiOptions> = {
  ...httpModelOptions,
  features: optional(object),
  maxTokensField: anything,
  sendThinking: anything,
  thinkTags: anything,
  includeUsage: anything,
};

/**
 * Returns the field of a request for `maxTokens`. OpenAI and Azure refuse the older name. Gateways
 * pass it on to OpenAI's models, which refuse it, too.
 */
export function maxTokensFieldOf(
  url: string,
  model: string,
): OpenAiFormatterOptions['maxTokensField'] {
  const isOpenAi = /\b(openai|azure)\.com\//.test(url) || isOpenAiThinker(model);
  return isOpenAi ? 'max_completion_tokens' : 'max_tokens';
}
