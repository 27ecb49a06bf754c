export { arc } from './tokens/arc-profile.ts';
export { countMessage, countMessages, countRequest, countTools } from './tokens/count-message.ts';
export { estimateTokens } from './tokens/estimate-tokens.ts';
export { profileFor } from './tokens/profile-for.ts';
export {
  cl100k,
  claude3,
  claude5,
  deepseek3,
  gemma3,
  generic,
  llama3,
  mistral,
  o200k,
  qwen3,
} from './tokens/profiles.ts';
export { TokenCalibration, withCalibration } from './tokens/token-calibration.ts';
export type { ObservedRequest, TokenCalibrationOptions } from './tokens/token-calibration.ts';
export type { TokenProfile, ToolCosts } from './tokens/token-profile.ts';
