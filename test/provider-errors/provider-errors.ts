import type { AgentErrorCode } from '@isoloop/core';

/**
 * An error of a model's server, as somebody reported it in public or as its makers document it. The
 * words are the server's. Where the source shows only the message, the body has the usual form.
 */
export interface ProviderError {
  readonly server: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body as JSON, or its text. */
  readonly body: object | string;
  /** Where the error is published. */
  readonly source: string;
}

/** What an error must become at every place. */
export interface ExpectedFailure {
  readonly code: AgentErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}

type Row = ProviderError & ExpectedFailure;

const github = (path: string): string => `https://github.com/${path}`;
const says = (message: string, more: object = {}): object => ({ error: { message, ...more } });
const invalid = { type: 'invalid_request_error' };

function tooLong(server: string, body: object | string, source: string, status = 400): Row {
  return { server, status, body, source, code: 'MODEL_CONTEXT_LENGTH', retryable: false };
}

/** Requests that are longer than the context window. */
export const tooLongErrors: readonly Row[] = [
  tooLong(
    'OpenAI',
    says(
      "This model's maximum context length is 4096 tokens. However, you requested 4118 tokens (3118 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
      { ...invalid, param: 'messages', code: 'context_length_exceeded' },
    ),
    github('Chanzhaoyu/chatgpt-web/issues/372'),
  ),
  tooLong(
    'OpenAI, Responses API',
    says(
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      { ...invalid, param: 'input', code: 'context_length_exceeded' },
    ),
    github('VectorlyApp/bluebox/issues/66'),
  ),
  tooLong(
    'OpenAI, GPT-5',
    says(
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 533603 tokens. Please reduce the length of the messages.',
      { ...invalid, param: 'messages', code: 'context_length_exceeded' },
    ),
    github('hyperifyio/goagent/issues/75'),
  ),
  tooLong(
    'Anthropic',
    { type: 'error', ...says('prompt is too long: 219898 tokens > 200000 maximum', invalid) },
    github('earendil-works/pi/issues/102'),
  ),
  tooLong(
    'Anthropic, with the output tokens',
    {
      type: 'error',
      ...says(
        'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
        invalid,
      ),
    },
    github('docker/docker-agent/issues/569'),
  ),
  tooLong(
    'Anthropic, by bytes',
    says('Request exceeds the maximum size', { type: 'request_too_large' }),
    github('anthropics/anthropic-sdk-python/issues/938'),
    413,
  ),
  tooLong(
    'Anthropic, 413',
    { type: 'error', ...says('Request size exceeds model context window', invalid) },
    github('anthropics/claude-code/issues/6380'),
    413,
  ),
  tooLong(
    'Gemini',
    [
      says(
        'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
        {
          code: 400,
          status: 'INVALID_ARGUMENT',
        },
      ),
    ],
    github('google-gemini/gemini-cli/issues/6678'),
  ),
  tooLong(
    'Bedrock',
    { message: 'Input is too long for requested model.' },
    github('aws-samples/assessment-generator/issues/2'),
  ),
  tooLong(
    'Bedrock behind OpenRouter',
    says('Provider returned error', {
      code: 400,
      metadata: {
        raw: '{"message":"input length and `max_tokens` exceed context limit: 149674 + 64000 > 204658, decrease input length or `max_tokens` and try again"}',
        provider_name: 'Amazon Bedrock',
      },
    }),
    github('egoist/chatwise-releases/issues/917'),
  ),
  tooLong(
    'Mistral',
    {
      object: 'error',
      message:
        'Prompt contains 300000 tokens, too large for model with 131072 maximum context length',
    },
    github(
      'earendil-works/pi/blob/17c253c5d6a9364b392a0fd3ee68333026d94255/packages/ai/src/utils/overflow.ts',
    ),
  ),
  tooLong(
    'Cohere',
    {
      message:
        "too many tokens: size limit exceeded by 1502 tokens. Try using shorter or fewer inputs, or setting prompt_truncation='AUTO'.",
    },
    github('Quansight/ragna/pull/351'),
  ),
  tooLong(
    'Cohere, with the output tokens',
    {
      message:
        'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.',
    },
    github('cohere-ai/sandbox-topically/issues/4'),
  ),
  tooLong(
    'Cerebras',
    {
      message:
        'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000',
    },
    github('cline/cline/issues/5140'),
  ),
  tooLong(
    'xAI',
    {
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    },
    github('cline/cline/issues/3120'),
  ),
  tooLong(
    'DeepSeek',
    says(
      "This model's maximum context length is 131072 tokens. However, you requested 132173 tokens (132173 in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
      { ...invalid, code: 'invalid_request_error' },
    ),
    github('RhythmicWave/NovelForge/issues/115'),
  ),
  tooLong(
    'Kimi',
    says(
      'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
      invalid,
    ),
    github('MoonshotAI/kimi-cli/issues/2011'),
  ),
  tooLong(
    'GLM',
    says('Prompt exceeds max length', { code: '1261' }),
    github('zeroclaw-labs/zeroclaw/issues/4124'),
  ),
  tooLong(
    'GitHub Copilot',
    says('prompt token count of 138898 exceeds the limit of 64000', {
      code: 'model_max_prompt_tokens_exceeded',
    }),
    github('microsoft/copilot-intellij-feedback/issues/94'),
  ),
  tooLong(
    'GitHub Copilot, older',
    says('prompt token count of 93854 exceeds the limit of 90000', { code: '', type: '' }),
    github('jjleng/copilot-more/issues/35'),
  ),
  tooLong(
    'Doubao',
    says(
      'Total tokens of image and text exceed max message tokens. Request id: 02174988779819281cc00bce',
      { code: 'InvalidParameter', param: '', type: 'BadRequest' },
    ),
    github('bytedance/UI-TARS-desktop/issues/684'),
  ),
  tooLong(
    'Doubao, text',
    says('Input length 299415 exceeds the maximum length 131072. Request id: 0217465833624773', {
      code: 'InvalidParameter',
      type: 'BadRequest',
    }),
    github('CherryHQ/cherry-studio/issues/5716'),
  ),
  tooLong(
    'Qwen',
    says('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]', {
      code: 'invalid_parameter_error',
      ...invalid,
    }),
    github('agentscope-ai/QwenPaw/issues/6255'),
  ),
  tooLong(
    'Qwen, own API',
    { code: 'InvalidParameter', message: 'Range of input length should be [1, 6000]' },
    github('LLM-Red-Team/qwen-free-api/issues/23'),
  ),
  tooLong(
    'Baidu Qianfan',
    says('Prompt tokens too long', { code: 'tokens_too_long', ...invalid }),
    'https://cloud.baidu.com/doc/qianfan-api/s/Om9b4yj3w',
  ),
  tooLong(
    'Baidu Qianfan, by characters',
    says('the max input characters is 20000', { code: 'characters_too_long', ...invalid }),
    'https://cloud.baidu.com/doc/qianfan-api/s/Om9b4yj3w',
  ),
  tooLong(
    'MiniMax',
    { type: 'error', ...says('invalid params, context window exceeds limit (2013)', invalid) },
    github('MiniMax-AI/MiniMax-M2/issues/119'),
  ),
  tooLong(
    'SiliconFlow',
    {
      code: 20015,
      message: 'length of prompt_tokens (147509) must be less than max_seq_len (65536).',
      data: null,
    },
    github('CherryHQ/cherry-studio/issues/1131'),
  ),
  tooLong(
    'SiliconFlow, newer',
    {
      code: 20015,
      message: 'number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.',
      data: null,
    },
    github('leookun/cursor-byok/issues/129'),
  ),
  tooLong(
    'TGI',
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`',
      error_type: 'validation',
    },
    github('bytedance/UI-TARS-desktop/issues/626'),
    422,
  ),
  tooLong(
    'TGI, input alone',
    {
      error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1168',
      error_type: 'validation',
    },
    github('huggingface/text-generation-inference/issues/695'),
    422,
  ),
  tooLong(
    'Together',
    says(
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens and 4096 `max_new_tokens`',
      { ...invalid, param: 'max_tokens' },
    ),
    github('BerriAI/litellm/issues/4934'),
  ),
  tooLong(
    'Together, newer',
    says("The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
    github(
      'earendil-works/pi/blob/17c253c5d6a9364b392a0fd3ee68333026d94255/packages/ai/src/utils/overflow.ts',
    ),
  ),
  tooLong(
    'Fireworks',
    says('The prompt is too long: 40177, model maximum context length: 32767', {
      object: 'error',
      ...invalid,
      code: 'invalid_request_error',
    }),
    github('fw-ai/cookbook/issues/134'),
  ),
  tooLong(
    'OpenRouter',
    says(
      'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      { code: 400 },
    ),
    github('refly-ai/refly/issues/1177'),
  ),
  tooLong(
    'Poolside behind OpenRouter',
    says('Input length 131393 exceeds the maximum allowed input length of 131040 tokens.'),
    github('earendil-works/pi/issues/4943'),
  ),
  tooLong(
    'Workers AI',
    says(
      "Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion.",
    ),
    github('anomalyco/models.dev/pull/4422'),
  ),
  tooLong(
    'vLLM',
    {
      object: 'error',
      message:
        "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.",
      type: 'BadRequestError',
      code: 400,
    },
    github('earendil-works/pi/issues/5930'),
  ),
  tooLong(
    'vLLM, with the output tokens',
    says(
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 1210 input tokens (8192 > 8192 - 1210).",
      { type: 'BadRequestError', code: 400 },
    ),
    github('opendatalab/MinerU/issues/4868'),
  ),
  // vLLM computes the limit from what is left of the window.
  tooLong(
    'vLLM, nothing left',
    {
      object: 'error',
      message: 'max_tokens must be at least 1, got -186.',
      type: 'BadRequestError',
      code: 400,
    },
    github('vllm-project/vllm/issues/4667'),
  ),
  tooLong(
    'vLLM, with pictures',
    says(
      'The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.',
    ),
    github('vllm-project/vllm/issues/12165'),
  ),
  tooLong(
    'vLLM, longer than the model',
    says(
      'The decoder prompt (length 17772) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      { type: 'BadRequestError', code: 400 },
    ),
    github('xorbitsai/inference/issues/3785'),
  ),
  tooLong(
    'SGLang',
    {
      object: 'error',
      message: 'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).',
      code: 400,
    },
    github('sgl-project/sglang/issues/4048'),
  ),
  tooLong(
    'Ollama',
    {
      error:
        'prompt too long; exceeded max context length by 540451 tokens (ref: 00ad71bb-fea0-4639-9dc9-3ad800192057)',
    },
    github('dyad-sh/dyad/issues/3498'),
  ),
  tooLong(
    'LM Studio',
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    },
    github('Gitlawb/openclaude/issues/353'),
  ),
  tooLong(
    'LM Studio, without numbers',
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    },
    github('lmstudio-ai/lmstudio-bug-tracker/issues/2205'),
  ),
  tooLong(
    'LM Studio, newer',
    { error: 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)' },
    github('anomalyco/opencode/issues/11141'),
  ),
  tooLong(
    'LM Studio, older',
    {
      error:
        'Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.',
    },
    github('cline/cline/issues/3664'),
  ),
  tooLong(
    'llama.cpp',
    says(
      'request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it',
      {
        code: 400,
        type: 'exceed_context_size_error',
        n_prompt_tokens: 6031,
        n_ctx: 4096,
      },
    ),
    github('chflame163/ComfyUI_Qwen_H3_Prompt/issues/5'),
  ),
  tooLong(
    'llama-cpp-python',
    says('Requested tokens (2065) exceed context window of 1800'),
    github('run-llama/llama_index/issues/8046'),
    500,
  ),
  tooLong(
    'MLX server',
    says('Prompt exceeds maximum context length'),
    github('ddalcu/mlx-serve/issues/66'),
  ),
  tooLong(
    'DS4',
    says('Prompt tokens (5000) exceeds context size (4096)', {
      type: 'context_exceeded',
      n_prompt_tokens: 5000,
      n_ctx: 4096,
    }),
    github('antirez/ds4/pull/150'),
  ),
  tooLong(
    'WebLLM',
    says(
      'Prompt tokens exceed context window size: number of prompt tokens: 33000; context window size: 32768\n' +
        'Consider shortening the prompt, or increase `context_window_size`, or using sliding window via `sliding_window_size`.',
    ),
    github('mlc-ai/web-llm/blob/308660a43f5ba5fc72f8dc8270aff7820ec93cd3/src/error.ts'),
  ),
];

/** Errors that only look as if the request were too long. A shorter conversation does not help. */
export const otherRequestErrors: readonly Row[] = [
  [
    'OpenAI, output tokens',
    400,
    says(
      'max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.',
      { ...invalid, param: 'max_tokens', code: 'invalid_value' },
    ),
    'tailcallhq/forgecode/issues/1185',
  ],
  [
    'Groq, output tokens',
    400,
    says(
      '`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model',
      invalid,
    ),
    'anomalyco/opencode/issues/1009',
  ],
  [
    'Qwen, output tokens',
    400,
    says('<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]', {
      code: 'invalid_parameter_error',
      ...invalid,
    }),
    'musistudio/claude-code-router/issues/184',
  ],
  [
    'Doubao, output tokens',
    400,
    says(
      'The parameter max_tokens specified in the request is not valid: integer above maximum value, expected a value <= 32768, but got 64000 instead. Request id: 0217724325966514087c9e55',
      { code: 'InvalidParameter', param: 'max_tokens', type: 'BadRequest' },
    ),
    'yiliqi78/TOKENICODE/issues/3',
  ],
  [
    'Perplexity, output tokens',
    400,
    says('max_tokens must be at least 16 for sonar.', { type: 'invalid_parameter', code: 400 }),
    'ITSpecialist111/ai_automation_suggester/issues/171',
  ],
  [
    'OpenAI, one id',
    400,
    says(
      "Invalid 'input[1943].id': string too long. Expected a string with maximum length 64, but got a string with length 74 instead.",
      { ...invalid, param: 'input[1943].id', code: 'string_above_max_length' },
    ),
    'openai/codex/issues/39133',
  ],
  [
    'llama.cpp, a picture',
    500,
    says(
      'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
      { code: 500, type: 'server_error' },
    ),
    'ggml-org/llama.cpp/issues/15377',
  ],
  [
    'llama.cpp, a picture, older',
    500,
    says('image input is not supported by this server', { code: 500, type: 'server_error' }),
    'ggml-org/llama.cpp/issues/13566',
  ],
  [
    'llama.cpp, tools',
    500,
    says('tools param requires --jinja flag', { code: 500, type: 'server_error' }),
    'QwenLM/Qwen3.8/issues/44',
  ],
  [
    'llama.cpp, tools, older',
    500,
    says('Unsupported param: tools', { code: 500, type: 'server_error' }),
    'ggml-org/llama.cpp/issues/10920',
  ],
  [
    'Ollama, a picture',
    400,
    says('this model does not support image input (ref: b8bd630e-4a39-4b57-82af-9158ee9d5703)'),
    'ollama/ollama/issues/17301',
  ],
].map(([server, status, body, path]) => ({
  server: server as string,
  status: status as number,
  body: body as object,
  source: github(path as string),
  code: 'MODEL_REQUEST',
  retryable: false,
}));

const limited = { code: 'MODEL_RATE_LIMITED', status: 429 } as const;

/** Limits of a rate or a quota. */
export const limitErrors: readonly Row[] = [
  {
    ...limited,
    server: 'Kimi, quota',
    status: 403,
    body: says(
      'Your account xx> is not active, organization <xx> exceeded current quota, please check your plan and billing details',
      { type: 'exceeded_current_quota_error' },
    ),
    source: github('MoonshotAI/Kimi-K2/issues/5'),
    retryable: false,
  },
  {
    ...limited,
    server: 'Kimi, suspended',
    body: says(
      'Your account org-a <ak-b> is suspended due to insufficient balance, please recharge your account or check your plan and billing details',
      { type: 'exceeded_current_quota_error' },
    ),
    source: github('MoonshotAI/kimi-code/pull/1857'),
    retryable: false,
  },
  // The free plan does not have this model, so the wait that the server names does not help.
  {
    ...limited,
    server: 'Gemini, a limit of 0',
    body: says(
      'You exceeded your current quota, please check your plan and billing details.\n' +
        '* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-3.1-pro\nPlease retry in 25.465784708s.',
      { code: 429, status: 'RESOURCE_EXHAUSTED' },
    ),
    source: github('google-gemini/gemini-cli/issues/22486'),
    retryable: false,
    retryAfterMs: 25_466,
  },
  // A limit of 20 requests, with the wait until the next one.
  {
    ...limited,
    server: 'Gemini, a limit of 20',
    body: says(
      'You exceeded your current quota, please check your plan and billing details.\n' +
        '* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20, model: gemini-3.6-flash\nPlease retry in 36.429760048s.',
      { code: 429, status: 'RESOURCE_EXHAUSTED' },
    ),
    source: github('diegosouzapw/OmniRoute/issues/9504'),
    retryable: true,
    retryAfterMs: 36_430,
  },
  {
    ...limited,
    server: 'Bedrock',
    body: { message: 'Too many tokens, please wait before trying again.' },
    source: github('RooCodeInc/Roo-Code/issues/5050'),
    retryable: true,
  },
  {
    ...limited,
    server: 'Bedrock, daily',
    body: { message: 'Too many tokens per day, please wait before trying again.' },
    source: github('minorun365/agent-book/issues/29'),
    retryable: true,
  },
  // A gateway put the throttle of Bedrock into a reply of another status.
  {
    ...limited,
    server: 'Bedrock behind a gateway',
    status: 400,
    body: { message: 'Too many tokens, please wait before trying again.' },
    source: github('ranxianglei/billion-context-pi/issues/169'),
    retryable: true,
  },
  {
    ...limited,
    server: 'Cerebras',
    body: { message: 'Tokens per minute limit exceeded - too many tokens processed.' },
    source: github('continuedev/continue/issues/9800'),
    retryable: true,
  },
  {
    ...limited,
    server: 'Groq',
    body: says(
      'Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01hs26sgxde6dva0eke39336sv` on tokens per minute (TPM): Limit 6000, Used 3513, Requested 3166. Please try again in 6.780999999s. Visit https://console.groq.com/docs/rate-limits for more information.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    source: github('openinterpreter/openinterpreter/issues/408'),
    retryable: true,
    retryAfterMs: 6781,
  },
  {
    ...limited,
    server: 'Groq, minutes',
    body: says(
      'Rate limit reached for model `llama3-8b-8192` in organization `org_01j3pzreckfdqazc407qtskwvq` on tokens per minute (TPM): Limit 30000, Used 73124, Requested 1877. Please try again in 1m30.002s.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    source: github('microsoft/graphrag/issues/757'),
    retryable: true,
    retryAfterMs: 90_002,
  },
  // The request alone is above the limit of a minute, so another try never succeeds.
  {
    ...limited,
    server: 'Groq, one request above the limit',
    status: 413,
    body: says(
      'Request too large for model `llama-3.1-70b-versatile` in organization `org_01hw8f0aa0ekmrn70ffm2zkdv1` on tokens per minute (TPM): ' +
        'Limit 6000, Requested 14368, please reduce your message size and try again. Visit https://console.groq.com/docs/rate-limits for more information.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    source: github('assafelovic/gpt-researcher/issues/985'),
    retryable: false,
  },
  {
    ...limited,
    server: 'OpenAI, one request above the limit',
    body: says(
      'Request too large for gpt-4o in organization org-VDAWofJASuLH0vVz8o9tiQZr on tokens per min (TPM): Limit 30000, Requested 30601. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.',
      { type: 'tokens', param: null, code: 'rate_limit_exceeded' },
    ),
    source: github('vanderschaarlab/climb/issues/1'),
    retryable: false,
  },
  {
    ...limited,
    server: 'OpenAI, headers',
    headers: {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-tokens': '20m0s',
    },
    body: says('Rate limit reached', { type: 'requests', code: 'rate_limit_exceeded' }),
    source: github('vectorize-io/hindsight/pull/3508'),
    retryable: true,
    retryAfterMs: 360_000,
  },
  {
    ...limited,
    server: 'OpenAI, quota',
    body: says('You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      param: null,
      code: 'insufficient_quota',
    }),
    source: github('Pythagora-io/gpt-pilot/issues/340'),
    retryable: false,
  },
  {
    ...limited,
    server: 'Azure',
    body: says(
      'Requests to the Creates a completion for the chat message Operation under Azure OpenAI API version 2023-03-15-preview ' +
        'have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 9 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.',
      { code: '429' },
    ),
    source: github('microsoft/sample-app-aoai-chatGPT/issues/406'),
    retryable: true,
    retryAfterMs: 9000,
  },
  {
    ...limited,
    server: 'Azure, peak load',
    body: says(
      'The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. Please retry after 20 seconds. For improved latency reliability, consider switching to Provisioned Throughput.',
      { code: 'RATE_LIMITED' },
    ),
    source: github('pollinations/pollinations/issues/6260'),
    retryable: true,
    retryAfterMs: 20_000,
  },
  {
    ...limited,
    server: 'Anthropic',
    headers: { 'retry-after': '12' },
    body: {
      type: 'error',
      ...says("This request would exceed your account's rate limit. Please try again later.", {
        type: 'rate_limit_error',
      }),
    },
    source: github('anthropics/claude-code/issues/71279'),
    retryable: true,
    retryAfterMs: 12_000,
  },
  {
    ...limited,
    server: 'Anthropic, headers',
    headers: {
      'anthropic-ratelimit-requests-limit': '5',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:07Z',
      'anthropic-ratelimit-tokens-limit': '25000',
      'anthropic-ratelimit-tokens-remaining': '16000',
      'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:59Z',
    },
    body: { type: 'error', ...says('Number of requests', { type: 'rate_limit_error' }) },
    source: github('anthropics/anthropic-sdk-typescript/issues/357'),
    retryable: true,
    retryAfterMs: 7000,
  },
  {
    ...limited,
    server: 'Anthropic, no credit',
    status: 400,
    body: {
      type: 'error',
      ...says(
        'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
        invalid,
      ),
    },
    source: github('continuedev/continue/issues/5499'),
    retryable: false,
  },
  {
    ...limited,
    server: 'Gemini',
    body: says(
      'You exceeded your current quota, please check your plan and billing details. Please retry in 58.934310785s.',
      {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '58s' }],
      },
    ),
    source: github('googleapis/python-genai/pull/2114'),
    retryable: true,
    retryAfterMs: 58_000,
  },
  {
    ...limited,
    server: 'Vertex AI',
    body: [
      says(
        'Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-claude-3-5-sonnet-v2. Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.',
        { code: 429, status: 'RESOURCE_EXHAUSTED' },
      ),
    ],
    source: github('cline/cline/issues/651'),
    retryable: true,
  },
  {
    ...limited,
    server: 'Mistral',
    body: {
      object: 'error',
      message: 'Rate limit exceeded',
      type: 'rate_limited',
      param: null,
      code: '1300',
      raw_status_code: 429,
    },
    source: github('raycast/extensions/issues/31107'),
    retryable: true,
  },
  {
    ...limited,
    server: 'Kimi',
    body: says('Your account request reached max request: 3, please try again after 1 seconds', {
      type: 'rate_limit_reached_error',
    }),
    source: github('harry0703/MoneyPrinterTurbo/issues/339'),
    retryable: true,
    retryAfterMs: 1000,
  },
  {
    ...limited,
    server: 'Kimi, plan used up',
    status: 403,
    body: {
      type: 'error',
      ...says(
        "You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle. To continue now, purchase extra usage or upgrade your plan: https://www.kimi.com/code/#pricing",
        { type: 'permission_error' },
      ),
    },
    source: github('NanmiCoder/cc-haha/issues/1208'),
    retryable: false,
  },
  {
    ...limited,
    server: 'GLM, no credit',
    body: says('余额不足或无可用资源包,请充值。', { code: '1113' }),
    source: github('agentscope-ai/QwenPaw/issues/202'),
    retryable: false,
  },
  {
    ...limited,
    server: 'GLM, no credit, in English',
    body: says('Insufficient balance or no resource package. Please recharge.', { code: '1113' }),
    source: github('zai-org/GLM-5/issues/148'),
    retryable: false,
  },
  {
    ...limited,
    server: 'GLM, plan used up',
    body: says('已达到 5 小时的使用上限。您的限额将在 2026-08-25 07:41:44 重置。', {
      code: '1308',
    }),
    source: github('dirge-code/dirge/issues/818'),
    retryable: false,
  },
  {
    ...limited,
    server: 'DeepSeek, no credit',
    status: 402,
    body: says('Insufficient Balance'),
    source: github('continuedev/continue/issues/9942'),
    retryable: false,
  },
  {
    ...limited,
    server: 'OpenRouter, no credit',
    status: 402,
    body: says(
      'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens',
      { code: 402 },
    ),
    source: github('can1357/oh-my-pi/issues/9569'),
    retryable: false,
  },
  {
    ...limited,
    server: 'OpenRouter',
    body: says('Rate limit exceeded: free-models-per-min.', {
      code: 429,
      metadata: {
        headers: {
          'X-RateLimit-Limit': '20',
          'X-RateLimit-Remaining': '0',
          'X-RateLimit-Reset': String(Date.UTC(2026, 0, 1, 0, 0, 42)),
        },
      },
    }),
    source: github('dirge-code/dirge/pull/719'),
    retryable: true,
    retryAfterMs: 42_000,
  },
  {
    ...limited,
    server: 'Ollama, plan used up',
    body: {
      error:
        'you (ann) have reached your session usage limit, upgrade for higher limits: https://ollama.com/upgrade',
    },
    source: github('continuedev/continue/issues/11444'),
    retryable: false,
  },
];

/** Refused keys, and servers that are busy or failed. */
export const otherErrors: readonly Row[] = [
  {
    server: 'OpenRouter, moderation',
    status: 403,
    body: says(
      'openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "violence".',
      {
        code: 403,
        metadata: { reasons: ['violence'], flagged_input: 'Hi', provider_name: 'OpenAI' },
      },
    ),
    source: 'https://openrouter.ai/docs/errors',
    code: 'MODEL_REQUEST',
    retryable: false,
  },
  {
    server: 'OpenAI, flagged',
    status: 400,
    body: says(
      'Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting',
      { ...invalid, param: null, code: 'invalid_prompt' },
    ),
    source: github('BeehiveInnovations/pal-mcp-server/issues/178'),
    code: 'MODEL_REQUEST',
    retryable: false,
  },
  {
    server: 'Qwen, inspection',
    status: 400,
    body: says('Output data may contain inappropriate content.', {
      code: 'data_inspection_failed',
      type: 'data_inspection_failed',
    }),
    source: github('666ghj/BettaFish/issues/570'),
    code: 'MODEL_REQUEST',
    retryable: false,
  },
  // Its status is 200, so in practice the error is within a reply.
  {
    server: 'LM Studio, a wrong address',
    status: 404,
    body: { error: 'Unexpected endpoint or method. (POST /chat/completions)' },
    source: github('zeenie-ai/OpenCompany/issues/114'),
    code: 'MODEL_REQUEST',
    retryable: false,
  },
  {
    server: 'Gemini, key',
    status: 400,
    body: says('API key not valid. Please pass a valid API key.', {
      code: 400,
      status: 'INVALID_ARGUMENT',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'API_KEY_INVALID',
          domain: 'googleapis.com',
        },
      ],
    }),
    source: github('can1357/oh-my-pi/issues/449'),
    code: 'MODEL_AUTH',
    retryable: false,
  },
  {
    server: 'Anthropic, busy',
    status: 529,
    body: { type: 'error', ...says('Overloaded', { type: 'overloaded_error' }) },
    source: github('anthropics/anthropic-sdk-typescript/issues/616'),
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'Gemini, busy',
    status: 503,
    body: says('No capacity available for model gemini-3-pro-high on the server', {
      code: 503,
      status: 'UNAVAILABLE',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'MODEL_CAPACITY_EXHAUSTED',
          domain: 'cloudcode-pa.googleapis.com',
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '40s' },
      ],
    }),
    source: github('badrisnarayanan/antigravity-claude-proxy/issues/197'),
    code: 'MODEL_SERVER',
    retryable: true,
    retryAfterMs: 40_000,
  },
];

/** Answers whose status alone tells what they mean. No server sends them within a stream. */
export const statusErrors: readonly Row[] = [
  {
    server: 'Gemini, canceled',
    status: 499,
    body: { error: { code: 499, errors: [{ reason: 'backendError' }], status: 'CANCELLED' } },
    source: github('google-gemini/gemini-cli/issues/20309'),
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'Groq, no capacity',
    status: 498,
    body: says('Flex tier capacity exceeded', { code: 'capacity_exceeded' }),
    source: 'https://console.groq.com/docs/errors',
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'MindIE, a failed generation',
    status: 424,
    body: { error: 'Request failed during generation' },
    source:
      'https://www.hiascend.com/doc_center/source/zh/mindie/10RC3/mindieservice/servicedev/mindie_service0301.html',
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'OpenAI, a conflict',
    status: 409,
    body: says('Conflict', { type: 'conflict' }),
    source: 'https://www.mintlify.com/openai/openai-python/concepts/retries',
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'Cloudflare, before Anthropic',
    status: 520,
    body: '<!DOCTYPE html><html><head><title>api.anthropic.com | 520: Web server is returning an unknown error</title></head></html>',
    source: github('anthropics/claude-code/issues/3197'),
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'Cloudflare, before Ollama',
    status: 524,
    body: '<!DOCTYPE html><html><head><title>chat.example | 524: A timeout occurred</title></head></html>',
    source: github('ollama/ollama/issues/3694'),
    code: 'MODEL_SERVER',
    retryable: true,
  },
  {
    server: 'Cerebras, 413 without a body',
    status: 413,
    body: '',
    source: github(
      'earendil-works/pi/blob/17c253c5d6a9364b392a0fd3ee68333026d94255/packages/ai/src/utils/overflow.ts',
    ),
    code: 'MODEL_CONTEXT_LENGTH',
    retryable: false,
  },
  {
    ...limited,
    server: 'Kimi, busy',
    body: says('The engine is currently overloaded, please try again later', {
      type: 'engine_overloaded_error',
    }),
    source: github('666ghj/BettaFish/issues/292'),
    retryable: true,
  },
  {
    ...limited,
    server: 'Mistral, busy',
    body: {
      object: 'error',
      message: 'Service tier capacity exceeded for this model.',
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
    source: github('continuedev/continue/issues/6185'),
    retryable: true,
  },
  {
    ...limited,
    server: 'GLM',
    body: says('您的账户已达到速率限制，请您控制请求频率', { code: '1302' }),
    source: github('yilewang/llm-for-zotero/issues/17'),
    retryable: true,
  },
  {
    ...limited,
    server: 'GLM, busy',
    body: says('该模型当前访问量过大，请您稍后再试', { code: '1305' }),
    source: github('zhukunpenglinyutong/jetbrains-cc-gui/issues/897'),
    retryable: true,
  },
];
