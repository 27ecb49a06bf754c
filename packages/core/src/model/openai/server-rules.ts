/** How a server differs from the specification of chat completions. */
export interface ServerRules {
  /** Whether the server must get thinking back, as `sendThinking` of `openai()` does. */
  readonly sendThinking?: boolean;
  /** Whether the model's thinking comes in `<think>` tags, as `thinkTags` of `openai()` expects. */
  readonly splitsThinking?: boolean;
}

/** Rules of the servers whose host and model, with a blank between them, match the pattern. */
const knownServers: readonly (readonly [pattern: RegExp, rules: ServerRules])[] = [
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

/** Returns the rules of the server on a host. An unknown server has none. */
export function serverRulesOf(host: string, model: string): ServerRules {
  return knownServers.find(([pattern]) => pattern.test(`${host} ${model}`))?.[1] ?? {};
}
