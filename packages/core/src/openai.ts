export type { Fetch } from './model/http/http-model.ts';
export { openai, type OpenAiOptions } from './model/openai/openai.ts';
export { openaiResponses } from './model/responses/openai-responses.ts';
export type { OpenAiResponsesOptions } from './model/responses/openai-responses.ts';
