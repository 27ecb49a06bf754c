import type { ModelRequest } from './chat-model.ts';

/** Settings of a request that some models refuse. */
type Sampling = Pick<ModelRequest, 'temperature' | 'topP'>;

/** Names of models that answer 400 to `temperature` and `top_p`, with the places that say so. */
const withoutSampling: readonly RegExp[] = [
  // https://github.com/openai/openai-python/issues/2104
  // https://portkey.ai/error-library/unsupported-parameter-error-10525
  /^o\d/,
  // https://github.com/tmc/langchaingo/issues/1355, https://github.com/vercel/ai/issues/10932
  // The chat models do not think: https://github.com/BerriAI/litellm/issues/13781
  /^gpt-5(?!\d|[\d.]*-chat)/,
  // https://github.com/github/copilot-sdk/issues/1557
  // https://github.com/Comfy-Org/ComfyUI/issues/13923
  /^claude-opus-4[.-][7-9]/,
  // https://github.com/Warma10032/VideoAdGuard/issues/34
  // https://github.com/iOfficeAI/gemini-cli-pro/pull/30
  /^kimi-k2\.[56]/,
];

/**
 * Returns the `temperature` and `topP` of a request, or nothing if the model refuses them. `effort`:
 * how much the request lets the model think. From GPT-5.1 on, `none` allows both settings
 * (https://github.com/langchain-ai/langchain/issues/35423).
 */
export function acceptedSampling(model: string, sampling: Sampling, effort: unknown): Sampling {
  // Gateways add the provider, and fine-tuned models a prefix: `openai/o3`, `ft:o4-mini:team`.
  const name = model.replace(/^(?:.*\/|ft:|(?:.*\.)?anthropic\.)/, '');
  const isRefused = withoutSampling.some((pattern) => pattern.test(name));
  const isWithoutThinking = effort === 'none' && /^gpt-5\.\d/.test(name);
  return isRefused && !isWithoutThinking ? {} : sampling;
}
