export { openaiResponses } from './openai-responses.ts';
export type { OpenAiResponsesOptions } from './openai-responses.ts';
