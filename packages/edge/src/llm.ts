export { llmProxy } from './routes/llm-proxy.ts';
export type { LlmOptions, LlmSetup, LlmUpstream } from './proxy/llm-options.ts';
export type { LlmProxy } from './handler-parts.ts';
