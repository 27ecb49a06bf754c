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
import type { TokenProfile } from './token-profile.ts';
import { claudeTools, compactTools, jsonTools } from './tool-costs.ts';

/** GPT-4o, 4.1 and 5, o1 to o4, gpt-oss. Close to Kimi and Grok. */
export const o200k: TokenProfile = /* @__PURE__ */ fittedProfile(
  'o200k',
  o200kWeights,
  compactTools,
  3000,
  700,
);

/** GPT-4 and 3.5. */
export const cl100k: TokenProfile = /* @__PURE__ */ fittedProfile(
  'cl100k',
  cl100kWeights,
  compactTools,
);

/** Qwen 2, 2.5 and 3. Close to GLM. */
export const qwen3: TokenProfile = /* @__PURE__ */ fittedProfile('qwen3', qwen3Weights, jsonTools);

/** Llama 3. */
export const llama3: TokenProfile = /* @__PURE__ */ fittedProfile(
  'llama3',
  llama3Weights,
  jsonTools,
);

/** DeepSeek V3 and R1. */
export const deepseek3: TokenProfile = /* @__PURE__ */ fittedProfile(
  'deepseek3',
  deepseek3Weights,
  jsonTools,
);

/** Gemma 3. Close to Gemini. */
export const gemma3: TokenProfile = /* @__PURE__ */ fittedProfile(
  'gemma3',
  gemma3Weights,
  compactTools,
  1100,
);

/** Mistral with the Tekken tokenizer: Nemo, Pixtral and newer. */
export const mistral: TokenProfile = /* @__PURE__ */ fittedProfile(
  'mistral',
  mistralWeights,
  jsonTools,
);

/** Claude 3 to Opus 4.6. */
export const claude3: TokenProfile = /* @__PURE__ */ fittedProfile(
  'claude3',
  claude3Weights,
  claudeTools,
  1600,
  750,
);

/** Claude Opus 4.7 and newer. */
export const claude5: TokenProfile = /* @__PURE__ */ fittedProfile(
  'claude5',
  claude5Weights,
  claudeTools,
  3000,
  750,
);

/** Fitted to the geometric mean of all of these but `cl100k`, for a model of an unknown family. */
export const generic: TokenProfile = /* @__PURE__ */ fittedProfile(
  'generic',
  genericWeights,
  jsonTools,
);
