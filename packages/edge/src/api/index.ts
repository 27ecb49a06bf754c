export { answerConversation } from './answer-conversation.ts';
export type { PostedConversation } from './answer-conversation.ts';
export { answerTurn } from './answer-turn.ts';
export type { StoredTurn } from './answer-turn.ts';
export { modelsRoute } from './models-route.ts';
export { toOpenAiError } from './openai-error.ts';
export type { OpenAiError } from './openai-error.ts';
export { withoutSystem } from './without-system.ts';
export { ignoredHeader } from '../http/header-names.ts';
export { checkModel, checkName, readJson } from '../http/request-body.ts';
export type { RequestBody } from '../http/request-body.ts';
export type { EdgeEnv, EdgeLimits, HandlerSettings } from '../settings/handler-options.ts';
export type {
  ApiCall,
  ApiFormat,
  EncodeBatch,
  LiveTurn,
  OpenAiRoutes,
} from '../settings/openai-routes.ts';
export { hasOutput, toText } from '../answer/event-stream.ts';
export { checkSessionId } from '../session/setup.ts';
