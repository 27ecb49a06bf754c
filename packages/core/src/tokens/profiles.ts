import { fittedProfile } from './fitted-profile.ts';
import {
  cl100kWeights,
  claude3Weights,
  claude5Weights,
  deepseek3Weights,
  gemma3Weights,
  genericWeights,
  llama3Weights,
  mistralWeights,
  o200kWeights,
  qwen3Weights,
} from './profile-weights.ts';
import type { TokenProfile, ToolCosts } from './token-profile.ts';

/** OpenAI, Gemini, Kimi: definitions in a shorter form than JSON. */
const compact: ToolCosts = { once: 20, each: 6, factor: 0.95 };
const json: ToolCosts = { once: 60, each: 30, factor: 1.25 };
/** With instructions for their use. */
const claude: ToolCosts = { once: 410, each: 30, factor: 1.25 };

/** GPT-4o, 4.1 and 5, o1 to o4, gpt-oss. Near: Kimi, Grok. */
export const o200k: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'o200k',
  weights: o200kWeights,
  tools: compact,
  perMedia: 3000,
});

/** GPT-4 and 3.5. */
export const cl100k: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'cl100k',
  weights: cl100kWeights,
  tools: compact,
  perMedia: 1600,
});

/** Qwen 2, 2.5 and 3. Near: GLM. */
export const qwen3: TokenProfile = /* @__PURE__ */ fittedProfile({ name: 'qwen3', weights: qwen3Weights, tools: json, perMedia: 1600 });

/** Llama 3. */
export const llama3: TokenProfile = /* @__PURE__ */ fittedProfile({ name: 'llama3', weights: llama3Weights, tools: json, perMedia: 1600 });

/** DeepSeek V3 and R1. */
export const deepseek3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'deepseek3',
  weights: deepseek3Weights,
  tools: json,
  perMedia: 1600,
});

/** Gemma 3. Near: Gemini. */
export const gemma3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'gemma3',
  weights: gemma3Weights,
  tools: compact,
  perMedia: 1600,
});

/** Mistral with the Tekken tokenizer: Nemo, Pixtral and newer. */
export const mistral: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'mistral',
  weights: mistralWeights,
  tools: json,
  perMedia: 1600,
});

/** Claude 3 to Opus 4.6. */
export const claude3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'claude3',
  weights: claude3Weights,
  tools: claude,
  perMedia: 1600,
});

/** Claude Opus 4.7 and newer. */
export const claude5: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'claude5',
  weights: claude5Weights,
  tools: claude,
  perMedia: 3000,
});

/** The middle of all of these but `cl100k`, for a model of an unknown family. */
export const generic: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'generic',
  weights: genericWeights,
  tools: json,
  perMedia: 1600,
});
