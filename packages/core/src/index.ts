export { agentTool } from './agent/agent-tool.ts';
export type {
  AgentToolOptions,
  ChildAgent,
  ChildFactory,
  ChildSession,
} from './agent/agent-tool.ts';
export { ReActAgent } from './agent/react-agent.ts';
export type { AgentInput, CallInput, PlainMessage } from './loop/call-input.ts';
export type { InterruptRequest } from './event/interrupt-request.ts';
export type { AgentOptions, CallOptions } from './agent/agent-options.ts';
export type { AgentResult, StopReason } from './event/agent-result.ts';
export { loadState, saveState } from './state/agent-state.ts';
export type { AgentState } from './state/agent-state.ts';
export type { AgentStatus } from './event/agent-status.ts';
export type { CallState } from './event/call-state.ts';
export type { AgentCall, AgentHook, Middleware, Rejection, UseList } from './loop/middleware.ts';
export type { AgentDefaults, AgentLimits } from './loop/agent-defaults.ts';
export type { EventFields, LoopSteps } from './loop/loop-steps.ts';
export type { RunContext } from './loop/run-context.ts';
export type { Verdict } from './loop/admission/verdict.ts';
export { jsonMode, yamlMode } from './output/json-mode.ts';
export type { JsonModeOptions, YamlModeOptions } from './output/json-mode.ts';
export type { DirectAnswer, ReturnDirect } from './loop/direct-answer.ts';
export { longTermMemory } from './recall/long-term/long-term-memory.ts';
export type { LongTermMemoryMiddleware } from './recall/long-term/long-term-memory.ts';
export type {
  LongTermMemoryOptions,
  LongTermPhase,
  LongTermTurn,
} from './recall/long-term/long-term-options.ts';
export type { OutputAnswer, OutputMode, OutputRun } from './loop/output-mode.ts';
export type { Decision, PendingCall } from './event/pending-call.ts';
export type { Reply } from './loop/reply/read-reply.ts';
export { recentQuestions, retrieval } from './recall/retrieval/retrieval.ts';
export type { RetrievalCall, RetrievalOptions } from './recall/retrieval/retrieval-options.ts';
export { AgentStream } from './agent/agent-stream.ts';
export { RunDriver } from './loop/driver/run-driver.ts';
export type { RunDriverOptions } from './loop/driver/run-driver.ts';
export { summarize } from './loop/limit.ts';
export type { OnLimit, SummarizeOptions } from './loop/limit.ts';
export { append, merge, replace } from './state/state-key.ts';
export type { StateKey } from './state/state-key.ts';
export { stateKeys } from './state/state-keys.ts';
export type {
  SessionState,
  StateMiddleware,
  StateKeys,
  StateKeysOptions,
  StateSource,
} from './state/state-keys.ts';
export { answerFromObservations } from './middleware/limits/answer-from-observations.ts';
export type { AnswerFromObservationsOptions } from './middleware/limits/answer-from-observations.ts';
export { attachment } from './prompt/attachment.ts';
export type { AttachmentOptions } from './prompt/attachment.ts';
export { promptVariables } from './prompt/prompt-variables.ts';
export type { PromptCall, PromptVariablesOptions } from './prompt/prompt-variables.ts';
export { structured } from './output/structured.ts';
export type { StructuredOptions } from './output/structured.ts';
export { systemPrompt } from './prompt/system-prompt.ts';
export type { SystemPromptOptions } from './prompt/system-prompt.ts';
export { clearToolResults } from './context/clear-tool-results.ts';
export type { ClearToolResultsOptions } from './context/clear-tool-results.ts';
export type { ContextPolicy, ContextRequest, FittedContext } from './loop/context-policy.ts';
export { fitContext } from './context/fit-context.ts';
export type { FitContextOptions } from './context/fit-context.ts';
export { answersOnly, lastTurns, successfulTurns } from './context/history-views.ts';
export type { TokenRatios, WindowOptions } from './context/request-meter.ts';
export { summarizeHistory } from './context/summarize-history.ts';
export type { HistorySummarizer, SummarizeHistoryOptions } from './context/summarize-history.ts';
export type { SummaryStore } from './memory/summary-store.ts';
export { weightedHistory } from './context/weighted-history.ts';
export type { WeightedHistoryOptions } from './context/weighted-history.ts';
export { twoPhaseTrim } from './context/two-phase-trim.ts';
export type { Trimmed, TrimOptions } from './context/two-phase-trim.ts';
export { AgentError, messageOf } from './error/agent-error.ts';
export type { AgentErrorCode, AgentErrorData, AgentErrorOptions } from './error/agent-error.ts';
export { classifyError } from './error/classify-error.ts';
export type { ErrorClass } from './error/classify-error.ts';
export { errorMessage } from './error/error-message.ts';
export type {
  ErrorLanguage,
  ErrorMessageKey,
  ErrorMessageOptions,
  ErrorMessageResolver,
  ErrorMessages,
  GuardCategory,
} from './error/error-message.ts';
export { multiAgent } from './provider/multi-agent.ts';
export type { MultiAgentOptions } from './provider/multi-agent.ts';
export type { AgentEvent, AgentEventBase, EventBatch, EventOf } from './event/agent-event.ts';
export type {
  Awaitable,
  ControlOf,
  EventControls,
  Hook,
  HookArgs,
  HookControl,
  HookEntry,
  HookHandler,
  Hooks,
  JumpReason,
  JumpTarget,
} from './event/hook.ts';
export { BatchCache } from './memory/log/batch-cache.ts';
export { documentsText } from './prompt/documents-text.ts';
export { EchoMemory } from './memory/branch/echo-memory.ts';
export type { EchoMemoryOptions, SessionBranch } from './memory/branch/echo-memory.ts';
export { InMemoryMemory } from './memory/in-memory-memory.ts';
export type { KeyValueStore, StoreFeatures } from './memory/key-value-store.ts';
export type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './recall/long-term/long-term-contract.ts';
export type { Memory, RunEnd } from './memory/memory.ts';
export { keywordRerank, mmrRerank } from './recall/retrieval/rerank.ts';
export type { Rerank } from './recall/retrieval/rerank.ts';
export type {
  RetrievedDocument,
  RetrieveOptions,
  Retriever,
} from './recall/retrieval/retriever.ts';
export { MemoryStore } from './memory/memory-store.ts';
export type { LogRecord, RunNote } from './memory/log/log-record.ts';
export { listSessions, SessionMemory } from './memory/session-memory.ts';
export type { SessionInfo, SessionMemoryOptions } from './memory/session-memory.ts';
export type { SessionView } from './memory/log/session-view.ts';
export type {
  ContentBlock,
  MediaBlock,
  MediaSource,
  TextBlock,
  ThinkingBlock,
  ToolResult,
  ToolResultState,
  ToolUse,
} from './message/content-block.ts';
export {
  assistantMessage,
  createMessage,
  systemMessage,
  toolMessage,
  userMessage,
} from './message/create-message.ts';
export type { MessageContext, MessageOptions } from './message/create-message.ts';
export type { JsonObject, JsonValue } from './message/json.ts';
export { outputText, textOf, toolResultsOf, toolUsesOf } from './message/message-text.ts';
export type { Msg, Role } from './message/msg.ts';
export { renderTemplate } from './prompt/render-template.ts';
export type { TemplateOptions, TemplateVariables } from './prompt/render-template.ts';
export { parseHistory } from './message/validate-history.ts';
export { parseMessages } from './message/validate-message.ts';
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
} from './model/chat-model.ts';
export { addUsage, noUsage } from './model/usage.ts';
export type { Usage } from './model/usage.ts';
export type { Schema, Validation } from './schema/schema.ts';
export type { InferOutput, SchemaLike, StandardSchema } from './schema/to-schema.ts';
export { textStream } from './stream/text-stream.ts';
export type { TextSource, TextStream, TextStreamOptions } from './stream/text-stream.ts';
export { arc } from './tokens/arc-profile.ts';
export { calibrated } from './tokens/calibrated-model.ts';
export { countMessage, countMessages, countRequest, countTools } from './tokens/count-message.ts';
export { estimateTokens } from './tokens/estimate-tokens.ts';
export { profileFor } from './tokens/profile-for.ts';
export {
  cl100k,
  claude3,
  claude5,
  deepseek3,
  gemma3,
  generic,
  llama3,
  mistral,
  o200k,
  qwen3,
} from './tokens/profiles.ts';
export { TokenCalibration } from './tokens/token-calibration.ts';
export type { ObservedRequest, TokenCalibrationOptions } from './tokens/token-calibration.ts';
export type { TokenProfile, ToolCosts } from './tokens/token-profile.ts';
export { contextToken, provide } from './tool/context-token.ts';
export type { ContextEntry, ContextToken } from './tool/context-token.ts';
export { byWords } from './tool-selection/by-words.ts';
export type { ByWordsOptions } from './tool-selection/by-words.ts';
export { byKeyword } from './tool-selection/by-keyword.ts';
export type { ToolCategory } from './tool-selection/by-keyword.ts';
export { byModel } from './tool-selection/by-model.ts';
export type { ByModelOptions } from './tool-selection/by-model.ts';
export { bySimilarity } from './tool-selection/by-similarity.ts';
export type { BySimilarityOptions, Embed, Embedding } from './tool-selection/by-similarity.ts';
export { toolSourcing } from './tool-selection/tool-sourcing.ts';
export type { ToolSourcingOptions } from './tool-selection/tool-sourcing.ts';
export { selectTools } from './tool-selection/select-tools.ts';
export type { SelectToolsOptions, ToolSelector } from './tool-selection/select-tools.ts';
export { joinTools } from './tool/join-tools.ts';
export type { ForkOptions, ToolSet } from './tool/tool-set.ts';
export { tool } from './tool/tool.ts';
export type {
  Tool,
  ToolContent,
  ToolChanges,
  ToolContext,
  ToolOptions,
  ToolOutput,
  ReplayPolicy,
} from './tool/tool.ts';
export { metaTool } from './tool/meta-tool.ts';
export type { MetaToolOptions } from './tool/meta-tool.ts';
export { Toolkit } from './tool/toolkit.ts';
export type { ToolGroup, ToolGroupOptions, ToolkitOptions } from './tool/toolkit.ts';
