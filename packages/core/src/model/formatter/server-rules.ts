/** How a server differs from the specification of its API. */
interface ServerRules {
  /** Form that the ids of tool calls must have. Default: what most servers accept. */
  readonly callIds?: RegExp;
  /** Whether the server refuses two messages of the user in a row. */
  readonly alternatesRoles?: boolean;
  /** Whether the server refuses a system message that is not the first message. */
  readonly leadingSystem?: boolean;
  /** Whether the server refuses a message of the assistant at the end. */
  readonly endsWithUser?: boolean;
  /** Whether the server refuses tool calls in the history of a request without tools. */
  readonly needsTools?: boolean;
  /** Field of a request for `seed`. Default: `seed`. */
  readonly seedField?: string;
  /** Whether the server must get thinking back, as `sendThinking` of `openai()` does. */
  readonly sendThinking?: boolean;
  /** Whether the model's thinking comes in `<think>` tags, as `thinkTags` of `openai()` expects. */
  readonly splitsThinking?: boolean;
}

/**
 * Rules of the servers whose host and model, with a blank between them, match the pattern. A later
 * row overrides an earlier one.
 */
const knownServers: readonly (readonly [pattern: RegExp, rules: ServerRules])[] = [
  // https://github.com/farion1231/cc-switch/issues/1181 (Anthropic)
  // https://github.com/microsoft/autogen/issues/6377 (OpenAI, 40 characters)
  // https://github.com/BerriAI/litellm/issues/17343 (Copilot)
  [/openai|azure|anthropic|claude|bedrock|copilot|\bgpt-|\bo\d\b/i, { callIds: /^[\w-]{1,40}$/ }],
  // Other servers run Mistral's models with Mistral's own rules.
  // https://mistralai.github.io/mistral-common/usage/tools/
  // https://github.com/mistralai/mistral-vibe/issues/255
  [
    /(mis|mix|minis|codes|devs|magis|pix)tral/i,
    { callIds: /^[a-z\d]{9}$/i, alternatesRoles: true, leadingSystem: true },
  ],
  // The chat templates of some models refuse two messages of the user in a row, in every server.
  // https://github.com/google/adk-python/issues/1373
  // https://github.com/perplexityai/api-discussion/issues/265
  [/gemma|perplexity|\bsonar\b/i, { alternatesRoles: true, leadingSystem: true }],
  // https://github.com/ggml-org/llama.cpp/issues/27367,
  // https://github.com/vllm-project/vllm/issues/41114
  // https://github.com/co-l/openfox/issues/367
  [/qwen|qwq/i, { leadingSystem: true, endsWithUser: true }],
  // https://github.com/0xPlaygrounds/rig/issues/708
  // https://github.com/mistralai/client-python/issues/186
  // https://docs.mistral.ai/api, https://github.com/langchain-ai/langchain-azure/issues/82
  [/\bmistral\.ai /, { endsWithUser: true, seedField: 'random_seed' }],
  // https://github.com/can1357/oh-my-pi/issues/1227
  [/bedrock/i, { needsTools: true }],
  // https://api-docs.deepseek.com/guides/thinking_mode
  // https://github.com/ValueCell-ai/ClawX/discussions/1040
  // https://github.com/continuedev/continue/pull/11806
  [
    /\b(deepseek\.com|xiaomimimo\.com|(moonshot\.(ai|cn)|kimi\.com)(?= kimi)) /i,
    { sendThinking: true },
  ],
  // https://platform.minimax.io/docs/api-reference/text-openai-api
  [/\bminimaxi?\.(io|com) /, { sendThinking: true, splitsThinking: true }],
  // https://reference.langchain.com/python/langchain-groq/chat_models/ChatGroq/reasoning_format
  // https://inference-docs.cerebras.ai/capabilities/reasoning
  // https://cloud.google.com/vertex-ai/generative-ai/docs/maas/capabilities/thinking
  [
    /\b(groq\.com .*(qwen|qwq|deepseek)|cerebras\.ai .*qwen|aiplatform\.googleapis\.com .*deepseek-r1)/i,
    { splitsThinking: true },
  ],
];

/** Returns the rules of a server. `host`: its host, or the name of AI SDK's provider. */
export function serverRulesOf(host: string, model: string): ServerRules {
  const server = `${host} ${model}`;
  const rows = knownServers.filter(([pattern]) => pattern.test(server));
  return Object.assign({}, ...rows.map(([, rules]) => rules));
}
