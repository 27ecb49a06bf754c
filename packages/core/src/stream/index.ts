export type { AgentData, AgentTools } from './agent-tools.ts';
export { answerState, replyState } from './answer-state.ts';
export type { AnswerState } from './answer-state.ts';
export { JsonReader } from './object/json-reader.ts';
export type { JsonReaderOptions } from './object/json-reader.ts';
export { ObjectReader } from './object/object-reader.ts';
export { objectsIn } from './object/objects-in.ts';
export { outputItems, partialOutput } from './object/partial-output.ts';
export type { DeepPartial, ItemOf, OutputSource } from './object/partial-output.ts';
export { textStream } from './text-stream.ts';
export type { TextSource, TextStream, TextStreamOptions } from './text-stream.ts';
export { toTimelineEvent } from './timeline-event.ts';
export { latestMessages } from './ui/latest-messages.ts';
export type { ShownMessage } from './ui/latest-messages.ts';
export type { UiChunk } from './ui/ui-chunk.ts';
export { fromUiDecisions, hasApprovalResponse } from './ui/ui-decisions.ts';
export type { ShownChat } from './ui/ui-decisions.ts';
export { createUiMessageEncoder } from './ui/ui-message-encoder.ts';
export type { UiMessageEncoder, UiMessageEncoderOptions } from './ui/ui-message-encoder.ts';
export { getToolName, isToolUIPart } from './ui/ui-message.ts';
export type {
  DataUIPart,
  DynamicToolUIPart,
  FileUIPart,
  TextUIPart,
  ToolUIPart,
  UIMessage,
  UIMessagePart,
  UITools,
} from './ui/ui-message.ts';
export { fromUiMessage, toUiMessages } from './ui/ui-messages.ts';
export { interruptedText } from './ui/ui-parts.ts';
export { typedMessages, typedTransport } from './ui/ui-typed-parts.ts';
