export { llmProxy } from './routes/llm-proxy.ts';
export type { LlmOptions, LlmProxy, LlmSetup, LlmUpstream } from './proxy/llm-options.ts';
