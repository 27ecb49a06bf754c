export { arc } from './arc-profile.ts';
export { countMessage, countMessages, countRequest, countTools } from './count-message.ts';
export { estimateTokens } from './estimate-tokens.ts';
export { profileFor } from './profile-for.ts';
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
} from './profiles.ts';
export { searchTerms, shortQuery } from './search-terms.ts';
export type { SearchTerms } from './search-terms.ts';
export { TokenCalibration, withCalibration } from './token-calibration.ts';
export type { TokenCalibrationOptions } from './token-calibration.ts';
export type { TokenProfile } from './token-profile.ts';
export type { SearchTermsOptions, Segment } from './search-terms.ts';
