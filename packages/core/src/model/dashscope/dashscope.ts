import { misconfigured } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { anything, boolean, natural, object, oneOf, optional } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { defaultFeatures, type ChatModel, type ModelFeatures } from '../chat-model.ts';
import { checkedBase } from '../http/base-url.ts';
import {
  httpModelOptions,
  otherModelNames,
  httpModel,
  type HttpModelOptions,
} from '../http/http-model.ts';
import { modelHeaders } from '../../endpoint/per-request.ts';
import { dashScopeFormatter, type DashScopeEndpoint } from './dashscope-formatter.ts';

/** Which model of DashScope to use, and how it thinks. */
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

/** Name patterns of models that only the multimodal service has. */
const imageModelPattern = /-vl|^qvq|-omni|^qwen3\.[5-9]|^kimi-k2\.[5-9]/i;
const audioModelPattern = /-audio|-omni|-asr/i;

/** How the history of several agents names its speakers. */
const history = { headerOn: 'first', names: 'always' } as const;

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
  checkOptions('dashscope()', options, dashScopeOptions, 'CONFIGURATION', otherModelNames);
  checkThinking(options);
  const { model, baseURL = 'https://dashscope.aliyuncs.com/api/v1' } = options;
  const { enableThinking, thinkingBudget } = options;
  const media = [
    ...(imageModelPattern.test(model) ? (['image', 'video'] as const) : []),
    ...(audioModelPattern.test(model) ? (['audio'] as const) : []),
  ];
  const endpoint = options.endpoint ?? (media.length > 0 ? 'multimodal' : undefined);
  const features: ModelFeatures = { ...defaultFeatures, media, history, ...options.features };
  const formatterOptions = { model, features, endpoint, enableThinking, thinkingBudget };
  const formatter = dashScopeFormatter(formatterOptions);
  const servicesUrl = `${checkedBase(baseURL, /\/services\/aigc.*$/)}/services/aigc`;
  const headers = async (): Promise<Readonly<Record<string, string>>> => {
    const ownHeaders = await modelHeaders(options.headers);
    return { 'x-dashscope-sse': 'enable', ...ownHeaders };
  };
  return httpModel(
    { ...options, headers },
    {
      provider: 'dashscope',
      features,
      formatter,
      url: (request) => `${servicesUrl}/${formatter.endpointOf(request)}-generation/generation`,
      api: '/api/v1',
    },
  );
}

const dashScopeOptions: OptionTable<DashScopeOptions> = {
  ...httpModelOptions,
  features: optional(object),
  endpoint: optional(oneOf('text', 'multimodal')),
  enableThinking: optional(boolean),
  thinkingBudget: anything,
};

function checkThinking({ enableThinking, thinkingBudget }: DashScopeOptions): void {
  if (thinkingBudget === undefined) return;
  if (enableThinking === false)
    throw misconfigured('A thinkingBudget needs thinking, but enableThinking is false');
  checkFields('dashscope()', { thinkingBudget }, { thinkingBudget: natural });
}
