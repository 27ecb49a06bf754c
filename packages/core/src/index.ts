export type { AgentOptions, CallOptions } from './react-agent/agent-options.ts';
export { AgentStream } from './event/readers/agent-stream.ts';
export { ReActAgent } from './react-agent/react-agent.ts';
export { AgentError, errorText } from './error/agent-error.ts';
export type { AgentErrorCode, AgentErrorData } from './error/agent-error.ts';
export type { AgentEvent, EventBatch, EventOf } from './event/agent-event.ts';
export type { AgentResult, StopReason } from './event/agent-result.ts';
export type { Awaitable } from './event/hook.ts';
export type { InterruptRequest } from './event/interrupt-request.ts';
export type { Decision, PendingCall } from './event/pending-call.ts';
export type { AgentLimits } from './react-agent/agent-options.ts';
export type { AgentInput, PlainMessage } from './event/agent-input.ts';
export type { OnLimit } from './answer/on-limit.ts';
export type { AgentHook, Hooks, Middleware, UseList } from './agent/middleware.ts';
export type { EarlyRun } from './agent/seam/early-run.ts';
export type { RunView } from './agent/seam/run-view.ts';
export type { Run } from './agent/seam/run.ts';
export { InMemoryMemory } from './memory/in-memory-memory.ts';
export type { KeyValueStore } from './memory/store/key-value-store.ts';
export { MemoryStore } from './memory/store/memory-store.ts';
export type { ExtendedMemory, Memory } from './memory/memory.ts';
export { listSessions, type SessionInfo } from './memory/list-sessions.ts';
export { SessionMemory } from './memory/session-memory.ts';
export type { SessionMemoryOptions } from './memory/session-memory-options.ts';
export {
  assistantMessage,
  createMessage,
  systemMessage,
  toolMessage,
  userMessage,
  outputText,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from './message/msg.ts';
export type {
  ContentBlock,
  MediaBlock,
  MediaSource,
  MessageContent,
  MessageContext,
  MessageOptions,
  TextBlock,
  ThinkingBlock,
  ToolResult,
  ToolResultState,
  ToolUse,
  Msg,
  Role,
} from './message/msg.ts';
export type { JsonObject, JsonValue } from './message/json.ts';
export type {
  ChatModel,
  GenerateOptions,
  ModelContext,
  ModelDelta,
  ModelFeatures,
  ModelRequest,
  ToolChoice,
  ToolSchema,
  Usage,
} from './model/chat-model.ts';
export type { InferOutput, SchemaLike } from './schema/schema.ts';
export type { ToolSet } from './tool/set/tool-set.ts';
export { tool } from './tool/tool.ts';
export type {
  ReplayPolicy,
  Tool,
  ToolContent,
  ToolContext,
  ToolOptions,
  ToolOutput,
  ToolSource,
  TypedTool,
} from './tool/tool.ts';
