export { attach, type AttachOptions } from './event/readers/attach.ts';
export { decideForMessage } from './middleware/approval/decide-for-message.ts';
export type { DecideForMessageOptions } from './middleware/approval/decide-for-message.ts';
export { mayAskForApproval } from './middleware/approval/approving-agent.ts';
export { editProblem } from './middleware/approval/edit-call.ts';
export type { AgentStatus } from './event/agent-status.ts';
export { clientJsonMode } from './middleware/output/json-and-yaml-mode.ts';
export { checkDecision } from './event/pending-call.ts';
export { jsonClientText, clientTextError } from './middleware/guard/client-texts.ts';
export type { ClientText } from './middleware/guard/client-texts.ts';
export { RunDriver, type RunDriverOptions } from './event/readers/run-driver.ts';
export { eventLogShortener } from './event/readers/event-log.ts';
export type { EventLog, EventLogEntry, ShortenEventLog } from './event/readers/event-log.ts';
export { EchoMemory, echoFields } from './memory/branch/echo-memory.ts';
export type { EchoMemoryOptions, SessionBranch } from './memory/branch/echo-memory.ts';
export type { Entry, StoreFeatures } from './memory/store/key-value-store.ts';
export { joinValue, splitValue } from './memory/store/split-value.ts';
export { BatchCache } from './memory/branch/batch-cache.ts';
export { checkRecords, recordsOf, type LogRecord } from './memory/log/log-record.ts';
export { changeBranchOwner, changeOwner } from './memory/move/owner-change.ts';
export type { ChooseOwner, StoredChange, StoredSession } from './memory/move/owner-change.ts';
export { adoptRecords } from './memory/adopt-records.ts';
export { moveSession, type MoveOptions } from './memory/move/move-session.ts';
export type { OwnerChange, SessionCopy, SessionPlace } from './memory/move/session-place.ts';
export { endpointHere, endpointPlace } from './memory/move/endpoint-place.ts';
export type { EndpointPlaceOptions } from './memory/move/endpoint-place.ts';
export {
  copyOfSession,
  messagesOf,
  placeWith,
  storePlace,
  sessionViewOf,
  type StorePlaceOptions,
} from './memory/move/store-place.ts';
export {
  closedByMoveId,
  endedCallsOf,
  endedIdsOf,
  withEndedCalls,
} from './memory/move/ended-calls.ts';
export { checkNotMoved, type Ownership } from './memory/log/stored-head.ts';
export { isCutOff, messagesBefore, resumptionOf } from './memory/log/resumption.ts';
export type { LogEnd, Resumption } from './memory/log/resumption.ts';
export type { SessionView } from './memory/log/session-view.ts';
export { EchoSigner } from './memory/branch/session-echo.ts';
export { digest } from './memory/branch/digest.ts';
export type { RunEnd } from './memory/memory.ts';
export { thinkingOf, messageIdOf } from './message/msg.ts';
export { isError, checkFields, checkOptions } from './error/agent-error.ts';
export { checkId } from './error/check-id.ts';
export { showFailuresAs } from './error/report-failure.ts';
export { isCorrection, metadataOf } from './message/metadata.ts';
export { hostedToolOf, imageDetailFields, sourcesOf } from './message/provider-metadata.ts';
export { acceptBlock, acceptMessage, acceptOutput } from './message/untrusted/accept-untrusted.ts';
export { addressProblem } from './message/untrusted/media-source.ts';
export { isCallId } from './message/untrusted/untrusted-fields.ts';
export { argumentsIn } from './message/call-arguments.ts';
export { jsonForm, jsonText, isObjectOrArray, isRecord } from './message/json.ts';
export { monotonicNow } from './wait/monotonic.ts';
export { retryableOnce } from './wait/retryable-once.ts';
export { maxTimeoutMs, sleepFor, timerMs } from './wait/timer.ts';
export { isQuestion, titleOf } from './message/turns.ts';
export { readSchema } from './schema/schema.ts';
export { isToolContent } from './tool/tool-call.ts';
export { parseHistory, parseMessages } from './message/validate-message.ts';
export { addUsage, noUsage } from './model/chat-model.ts';
export { outputToolName } from './schema/output-format.ts';
export { JsonReader } from './stream/object/json-reader.ts';
export { ObjectReader } from './stream/object/object-reader.ts';
export type { AnswerSink, AnswerSource } from './middleware/output/object/answer-source.ts';
export { objectWriterOf } from './middleware/output/written-output.ts';
export type { ObjectWriter } from './middleware/output/object/object-writer.ts';
export {
  failureMark,
  failureText,
  objectMediaType,
  restartMark,
  keepAlive,
} from './middleware/output/object/object-format.ts';
export { changesWaitMs, keepAliveHeader, requestEndpoint } from './model/http/endpoint-request.ts';
export type { EndpointLimits } from './model/http/endpoint-request.ts';
export { valueFor, type PerRequest, type RequestHeaders } from './model/http/per-request.ts';
export { SseParser } from './model/http/sse-parser.ts';
export { hasTypedParts, toTypedChunk } from './stream/ui/ui-typed-parts.ts';
export { answerEnding, replyEnding, type AnswerEnding } from './stream/answer-ending.ts';
export { incompleteReason } from './model/finish-reason.ts';
export { deniedChunks, interruptedText } from './stream/ui/ui-parts.ts';
export { errorOfResponse } from './model/http/provider-error.ts';
export { maxTokensFieldOf } from './model/openai/openai.ts';
