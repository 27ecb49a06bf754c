import { fittedProfile } from './fitted-profile.ts';
import * as weights from './profile-weights.ts';
import { claudeTools, compactTools, type TokenProfile } from './token-profile.ts';

/** Profile for GPT-4o, GPT-4.1 and GPT-5, o1 to o4, and gpt-oss. Also close for Kimi and Grok. */
export const o200k: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'o200k',
  weights: weights.o200k,
  tools: compactTools,
  perMedia: 3000,
  imagePixels: 700,
});

/** Profile for GPT-4 and GPT-3.5. */
export const cl100k: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'cl100k',
  weights: weights.cl100k,
  tools: compactTools,
});

/** Profile for Qwen 2, 2.5 and 3. Also close for GLM. */
export const qwen3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'qwen3',
  weights: weights.qwen3,
});

/** Profile for Llama 3. */
export const llama3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'llama3',
  weights: weights.llama3,
});

/** Profile for DeepSeek V3 and R1. */
export const deepseek3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'deepseek3',
  weights: weights.deepseek3,
});

/** Profile for Gemma 3. Also close for Gemini. */
export const gemma3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'gemma3',
  weights: weights.gemma3,
  tools: compactTools,
  perMedia: 1100,
});

/** Profile for Mistral models with the Tekken tokenizer: Nemo, Pixtral and newer. */
export const mistral: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'mistral',
  weights: weights.mistral,
});

/** Profile for Claude 3 to Claude Opus 4.6. */
export const claude3: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'claude3',
  weights: weights.claude3,
  tools: claudeTools,
  imagePixels: 750,
});

/** Profile for Claude Opus 4.7 and newer. */
export const claude5: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'claude5',
  weights: weights.claude5,
  tools: claudeTools,
  perMedia: 3000,
  imagePixels: 750,
});

/**
 * Profile for a model of an unknown family. Fitted to the geometric mean of all other profiles
 * except `cl100k`.
 */
export const generic: TokenProfile = /* @__PURE__ */ fittedProfile({
  name: 'generic',
  weights: weights.generic,
});
