export { llmProxy } from './llm-proxy.ts';
export type { LlmOptions, LlmSetup, LlmUpstream } from './llm-options.ts';
