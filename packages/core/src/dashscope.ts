import { AgentError } from './error/agent-error.ts';
import { checkOptions } from './error/check-fields.ts';
import { dashScopeFormatter } from './model/dashscope/dashscope-formatter.ts';
import type { DashScopeEndpoint } from './model/dashscope/dashscope-messages.ts';
import { checkedBase } from './model/http/base-url.ts';
import type { ChatModel, ModelFeatures } from './model/chat-model.ts';
import { dashScopeError } from './model/dashscope/dashscope-error.ts';
import { httpFields, type HttpModelOptions, httpRequest } from './model/http/http-request.ts';
import { streamReply } from './model/http/http-transport.ts';

export type { DashScopeEndpoint } from './model/dashscope/dashscope-messages.ts';
export type { ApiKey } from './model/http/http-request.ts';
export interface DashScopeOptions extends HttpModelOptions {
  /**
   * Address of the service. Default: `https://dashscope.aliyuncs.com/api/v1`. The address in
   * Singapore is `https://dashscope-intl.aliyuncs.com/api/v1`.
   */
  readonly baseURL?: string;
  /**
   * Features of the model. Default: tools, and no known context window. Also images and video, or
   * audio, if the model's name shows that it supports them.
   */
  readonly features?: Partial<ModelFeatures>;
  /**
   * Service to call. `text` accepts only text. `multimodal` is for models that support images,
   * video or audio, even if a request has only text. Default: `multimodal` if the model's name
   * shows such support, or if the request has media that the model supports. Otherwise: `text`.
   */
  readonly endpoint?: DashScopeEndpoint;
  /**
   * Whether the model thinks before it answers. Default: `true` with a `thinkingBudget`, otherwise
   * the model's own default.
   */
  readonly enableThinking?: boolean;
  /** Maximum number of thinking tokens. */
  readonly thinkingBudget?: number;
}

/**
 * Name patterns of models that only the multimodal service has (AgentScope: `DashScopeHttpClient`).
 */
const seeing = /-vl|^qvq|-omni|^qwen3\.[5-9]|^kimi-k2\.[5-9]/i;
const hearing = /-audio|-omni|-asr/i;

/**
 * Creates a model that uses DashScope's own protocol: thinking, incremental output, multimodal
 * messages. `providerOptions` of a request are merged into `parameters`. Thinking is not sent back.
 * The tool choice `required` is sent as `auto`. While the model thinks, the choice of one tool is
 * sent as `auto` too.
 *
 * The model's stream rejects with the `MODEL_…` codes of `AgentErrorCode`, or with `ABORTED`. It
 * rejects with `INVALID_INPUT` if a provider option contradicts the protocol, and with
 * `CONFIGURATION` if the key has characters that a header cannot contain. Throws `CONFIGURATION`
 * for a wrong option, such as a `baseURL` without a scheme, and for options that contradict each
 * other.
 */
export function dashscope(options: DashScopeOptions): ChatModel {
  checkOptions(
    'CONFIGURATION',
    'dashscope()',
    options,
    `${httpFields} features:object|? endpoint:text|multimodal|? enableThinking:boolean|? ` +
      'thinkingBudget',
  );
  const {
    model,
    baseURL = 'https://dashscope.aliyuncs.com/api/v1',
    enableThinking,
    thinkingBudget,
  } = options;
  checkThinking(options);
  const named = [
    ...(seeing.test(model) ? (['image', 'video'] as const) : []),
    ...(hearing.test(model) ? (['audio'] as const) : []),
  ];
  const features: ModelFeatures = { tools: true, media: named, ...options.features };
  const endpoint = options.endpoint ?? (named.length > 0 ? 'multimodal' : undefined);
  const formatter = dashScopeFormatter({
    model,
    features,
    endpoint,
    enableThinking,
    thinkingBudget,
  });
  const services = `${checkedBase(baseURL)}/services/aigc`;
  return {
    provider: 'dashscope',
    modelId: model,
    features,
    async *stream(request, context) {
      const http = await httpRequest(options, context);
      const headers = { 'x-dashscope-sse': 'enable', ...http.headers };
      const url = `${services}/${formatter.endpointOf(request)}-generation/generation`;
      const body = formatter.format(request);
      try {
        yield* streamReply(
          () => ({ ...http, url, api: '/api/v1', headers, body }),
          formatter.decoder(),
        );
      } catch (error) {
        throw dashScopeError(error);
      }
    },
  };
}

function checkThinking({ enableThinking, thinkingBudget }: DashScopeOptions): void {
  if (thinkingBudget === undefined) return;
  if (enableThinking === false)
    throw new AgentError(
      'CONFIGURATION',
      'A thinkingBudget needs thinking, but enableThinking is false',
    );
  if (!Number.isInteger(thinkingBudget) || thinkingBudget < 1)
    throw new AgentError(
      'CONFIGURATION',
      `thinkingBudget must be a positive whole number of tokens, not ${String(thinkingBudget)}`,
    );
}
