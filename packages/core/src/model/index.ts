export { addUsage, noUsage, runInfo } from './chat-model.ts';
export type {
  ChatModel,
  GenerateOptions,
  ModelContext,
  ModelDelta,
  ModelFeatures,
  ModelRequest,
  RunInfo,
  ToolChoice,
  ToolSchema,
  Usage,
} from './chat-model.ts';
export { askText } from './ask-text.ts';
export type { TextRequest } from './ask-text.ts';
export { incompleteReason } from './finish-reason.ts';
export type { IncompleteReason } from './finish-reason.ts';
export { multiAgent } from './formatter/multi-agent.ts';
export type { MultiAgentOptions } from './formatter/multi-agent.ts';
export { toolNameOf } from './formatter/tool-name.ts';
export { parametersIssue } from './formatter/wire-schema.ts';
export type { Fetch } from './http/http-model.ts';
export { errorOfResponse } from './http/provider-error.ts';
export { SseParser } from './http/sse-parser.ts';
export { boundedModel } from './reply/bounded-model.ts';
export type { ModelBounds } from './reply/bounded-model.ts';
export { addExtras } from './reply/deltas.ts';
export { showToolMedia } from './show-tool-media.ts';
export { withStream, wrapModel } from './wrap-model.ts';
export type { ModelMiddleware } from './wrap-model.ts';
export type { BlockExtras, TextDelta } from './reply/deltas.ts';
