export { isRecord, jsonForm, jsonText, omitUndefined, parseJson } from './json.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { attachment } from './media/attachment.ts';
export type { AttachmentOptions } from './media/attachment.ts';
export { mapTexts, textsOf } from './message-texts.ts';
export { markAsProgram, metadataOf } from './metadata.ts';
export {
  assistantMessage,
  createMessage,
  outputText,
  systemMessage,
  textOf,
  thinkingOf,
  toolMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  userText,
} from './msg.ts';
export type {
  ContentBlock,
  MediaBlock,
  MediaSource,
  MessageContent,
  MessageContext,
  MessageOptions,
  Msg,
  Role,
  TextBlock,
  ThinkingBlock,
  ToolResult,
  ToolResultState,
  ToolUse,
} from './msg.ts';
export { sourcesOf } from './provider-metadata.ts';
export type { DataPart } from './provider-metadata.ts';
export { contextSection, documentsText } from './retrieved-document.ts';
export type { RetrievedDocument } from './retrieved-document.ts';
export { shortenResults, startOfTexts } from './conversation/shorten-results.ts';
export { textHistory } from './conversation/text-history.ts';
export { cleanText, fence, startOf } from './text.ts';
export { openToolUses, pairedForModel } from './conversation/tool-pairs.ts';
export { answerOf, currentTurn, isQuestion } from './conversation/turns.ts';
export { parseHistory, parseMessages } from './validate-message.ts';
export { maskParameters } from './mask-parameters.ts';
export type { MessageMetadata } from './metadata.ts';
export type { Source } from './provider-metadata.ts';
export type { DefinedFields } from './json.ts';
