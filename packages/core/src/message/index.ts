export { argumentsIn } from './call-arguments.ts';
export {
  isObjectOrArray,
  isRecord,
  jsonForm,
  jsonText,
  omitUndefined,
  parseJson,
  pickFields,
  wellFormed,
} from './json.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { attachment } from './media/attachment.ts';
export type { AttachmentOptions } from './media/attachment.ts';
export { mediaKind } from './media/media.ts';
export { mapTexts, textWithUrls, textsOf } from './message-texts.ts';
export { isCorrection, isFromProgram, markAsProgram, metadataOf } from './metadata.ts';
export {
  assistantMessage,
  createMessage,
  messageIdOf,
  outputText,
  systemMessage,
  textOf,
  thinkingOf,
  toolMessage,
  toolResultsOf,
  toolUseIn,
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
export { imageDetailFields, sourcesOf } from './provider-metadata.ts';
export type { DataPart, HostedTool } from './provider-metadata.ts';
export { contextSection, documentsText } from './retrieved-document.ts';
export type { RetrievedDocument } from './retrieved-document.ts';
export { lengthOfTexts, startOfTexts } from './shorten-results.ts';
export { textHistory } from './text-history.ts';
export { cleanText, fence, percentDecode, shortenText, startOf } from './text.ts';
export { openToolUses, pairedForModel } from './tool-pairs.ts';
export { answerOf, currentTurn, isQuestion, stepsStart, titleOf } from './turns.ts';
export { acceptBlock, acceptMessage, acceptOutput } from './untrusted/accept-untrusted.ts';
export { addressProblem } from './untrusted/media-source.ts';
export { parseHistory, parseMessages } from './validate-message.ts';
export { maskParameters } from './mask-parameters.ts';
export type { AcceptOptions } from './untrusted/accept-untrusted.ts';
export type { Sender } from './untrusted/untrusted-fields.ts';
export type { MessageMetadata } from './metadata.ts';
export type { DefinedFields } from './json.ts';
export type { Source } from './provider-metadata.ts';
