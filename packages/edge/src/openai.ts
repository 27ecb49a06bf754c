export { openAiRoutes } from './routes/openai/openai-routes.ts';
export type { OpenAiRoutesOptions } from './completions/openai-options.ts';
export type { ClientSetting } from './completions/model-settings.ts';
export type { SchemaFactory } from './completions/response-format.ts';
export type { OpenAiRoutes } from './handler-parts.ts';
