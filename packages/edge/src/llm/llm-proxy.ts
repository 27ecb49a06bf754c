import {
  checkOptions,
  array,
  func,
  natural,
  optional,
  positive,
  type OptionTable,
} from '@isoloop/core/options';
import type { LlmOptions } from './llm-options.ts';
import { toChatWire, toResponsesWire } from './llm-wire.ts';
import { llmRoute, type LlmApi } from './llm-route.ts';
import { toText } from '../answer/event-stream.ts';
import { toOpenAiError } from '../api/openai-error.ts';
import { modelsRoute } from '../api/models-route.ts';
import type { EndpointPart, Routes } from '../settings/endpoint-part.ts';

/**
 * Creates the model proxy of an endpoint, for agents that run in a page. The page has no API key;
 * the proxy adds the key. Throws `CONFIGURATION` if `maxTokens` or `timeoutMs` is no limit.
 *
 * @example
 * createAgentHandler<Env>({
 *   agent,
 *   llm: llmProxy({
 *     models: ['gpt-5-mini'],
 *     upstream: ({ env }) => ({ apiKey: env.OPENAI_API_KEY }),
 *   }),
 * });
 */
export function llmProxy<Env extends object>(options: LlmOptions<Env>): EndpointPart<Env> {
  checkOptions('llmProxy()', options, llmOptions);
  // The routes get the bindings without their type.
  const llm = options as unknown as LlmOptions;
  const forward = (api: LlmApi): Routes => ({
    POST: (c, settings) => llmRoute(c, settings, llm, api),
  });
  return {
    routes: {
      '/llm/v1/chat/completions': forward({
        path: '/chat/completions',
        toWire: toChatWire,
        encodeError: (error) => `${toText(toOpenAiError(error))}data: [DONE]\n\n`,
      }),
      '/llm/v1/responses': forward({
        path: '/responses',
        toWire: toResponsesWire,
        encodeError: (error) =>
          `event: error\n${toText({ ...toOpenAiError(error).error, type: 'error' })}`,
      }),
      '/llm/v1/models': { GET: () => modelsRoute(llm) },
    },
  };
}

const llmOptions: OptionTable<LlmOptions<object>> = {
  models: array,
  upstream: func,
  maxTokens: optional(natural),
  fields: optional(array),
  timeoutMs: optional(positive),
};
