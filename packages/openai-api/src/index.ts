export { openAiRoutes } from './routes/openai-routes.ts';
export type { OpenAiRoutesOptions } from './request/openai-options.ts';
export type { ClientSetting } from './request/model-settings.ts';
export type { SchemaFactory } from './request/response-format.ts';
export type { OpenAiRoutes } from '@isoloop/edge/api';
