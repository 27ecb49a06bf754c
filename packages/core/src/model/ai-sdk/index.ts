export type { AiSdkLanguageModel } from './ai-sdk-contract.ts';
export { fromAiSdk } from './ai-sdk-model.ts';
export type { FromAiSdkOptions } from './ai-sdk-model.ts';
