import type { ModelRequest } from '../chat-model.ts';

/** Settings of a request that some models refuse. */
type Sampling = Pick<ModelRequest, 'temperature' | 'topP' | 'stop'>;

/**
 * Names of OpenAI's models that always think. They answer 400 to `temperature`, `top_p`, `stop` and
 * `max_tokens`. Places that say so:
 *
 * - https://github.com/openai/openai-python/issues/2104
 * - https://portkey.ai/error-library/unsupported-parameter-error-10525
 * - https://github.com/tmc/langchaingo/issues/1355, https://github.com/vercel/ai/issues/10932
 * - `stop`: https://github.com/huggingface/smolagents/issues/1893
 * - `max_tokens` through gateways: https://github.com/vercel/ai/issues/11828
 *
 * The chat models do not think: https://github.com/BerriAI/litellm/issues/13781
 */
const thinkingModels = /^(o\d|gpt-5(?!\d|[\d.]*-chat))/;

// https://github.com/github/copilot-sdk/issues/1557
// https://github.com/Comfy-Org/ComfyUI/issues/13923
// https://github.com/Warma10032/VideoAdGuard/issues/34
// https://github.com/iOfficeAI/gemini-cli-pro/pull/30
const othersWithoutSampling = /^(claude-opus-4[.-][7-9]|kimi-k2\.[56])/;

// https://github.com/BerriAI/litellm/issues/15097, https://github.com/Vali-98/ChatterUI/issues/564
// https://github.com/open-webui/pipelines/pull/546
const claudeWithOneSetting = /^claude-(opus-4[.-]1|sonnet-4[.-][56])(?!\d)/;

/** Returns whether a model is one of OpenAI's that always think. */
export function isOpenAiThinker(model: string): boolean {
  return thinkingModels.test(plainName(model));
}

/**
 * Returns the settings of a request without those that the model refuses. `effort`: how much the
 * request lets the model think. From GPT-5.1 on, `none` allows `temperature` and `topP`
 * (https://github.com/langchain-ai/langchain/issues/35423).
 */
export function acceptedSampling(
  model: string,
  { temperature, topP, stop }: Sampling,
  effort: unknown,
): { readonly [Name in keyof Sampling]: Sampling[Name] | undefined } {
  const name = plainName(model);
  const isThinker = thinkingModels.test(name);
  const isWithoutThinking = effort === 'none' && /^gpt-5\.\d/.test(name);
  const isRefused = (isThinker && !isWithoutThinking) || othersWithoutSampling.test(name);
  const isOneRefused = temperature !== undefined && claudeWithOneSetting.test(name);
  return {
    temperature: isRefused ? undefined : temperature,
    topP: isRefused || isOneRefused ? undefined : topP,
    stop: !isThinker && stop?.length ? stop : undefined,
  };
}

/**
 * Returns a name without the provider that gateways add, and the prefix of fine-tuned models:
 * `openai/o3`, `openai:gpt-5`, `ft:o4-mini:team`.
 */
function plainName(model: string): string {
  return model.toLowerCase().replace(/^(.*\/|ft:|openai:|(.*\.)?anthropic\.)/, '');
}
