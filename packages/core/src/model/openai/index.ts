export { maxTokensFieldOf, openai } from './openai.ts';
export type { OpenAiOptions } from './openai.ts';
