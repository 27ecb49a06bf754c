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
import { claudeTools, compactTools, type TokenProfile } from './token-profile.ts';

/** Profile for GPT-4o, GPT-4.1 and GPT-5, o1 to o4, and gpt-oss. Also close for Kimi and Grok. */
export const o200k: TokenProfile = /* @__PURE__ */ fittedProfile('o200k', o200kWeights, {
  tools: compactTools,
  perMedia: 3000,
  imagePixels: 700,
});

/**
 * Profile for Grok, whose tokenizer is similar to that of `o200k`. Its tools and media cost more.
 */
export const grok: TokenProfile = /* @__PURE__ */ fittedProfile('grok', o200kWeights);

/** Profile for GPT-4 and GPT-3.5. */
export const cl100k: TokenProfile = /* @__PURE__ */ fittedProfile('cl100k', cl100kWeights, {
  tools: compactTools,
});

/** Profile for Qwen 2, 2.5 and 3. Also close for GLM. */
export const qwen3: TokenProfile = /* @__PURE__ */ fittedProfile('qwen3', qwen3Weights);

/** Profile for Llama 3. */
export const llama3: TokenProfile = /* @__PURE__ */ fittedProfile('llama3', llama3Weights);

/** Profile for DeepSeek V3 and R1. */
export const deepseek3: TokenProfile = /* @__PURE__ */ fittedProfile('deepseek3', deepseek3Weights);

/** Profile for Gemma 3. Also close for Gemini. */
export const gemma3: TokenProfile = /* @__PURE__ */ fittedProfile('gemma3', gemma3Weights, {
  tools: compactTools,
  perMedia: 1100,
});

/** Profile for Mistral models with the Tekken tokenizer: Nemo, Pixtral and newer. */
export const mistral: TokenProfile = /* @__PURE__ */ fittedProfile('mistral', mistralWeights);

/** Profile for Claude 3 to Claude Opus 4.6. */
export const claude3: TokenProfile = /* @__PURE__ */ fittedProfile('claude3', claude3Weights, {
  tools: claudeTools,
  imagePixels: 750,
});

/** Profile for Claude Opus 4.7 and newer. */
export const claude5: TokenProfile = /* @__PURE__ */ fittedProfile('claude5', claude5Weights, {
  tools: claudeTools,
  perMedia: 3000,
  imagePixels: 750,
});

/**
 * Profile for a model of an unknown family. Fitted to the geometric mean of all other profiles
 * except `cl100k`.
 */
export const generic: TokenProfile = /* @__PURE__ */ fittedProfile('generic', genericWeights);
