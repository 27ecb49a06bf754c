export { mayAskForApproval } from '../approval/approving-agent.ts';
export { attach } from '../event/readers/attach.ts';
export { eventLogShortener } from '../event/readers/event-log.ts';
export type { EventLog, EventLogEntry } from '../event/readers/event-log.ts';
export { RunDriver } from '../event/readers/run-driver.ts';
export { answerSoFar, eventWith, withEarlierAnswer } from './answer-so-far.ts';
export { beginTurn } from './begin-turn.ts';
export type { BeginTurnOptions, TurnInput } from './begin-turn.ts';
export type {
  AgentLink,
  AgentSessionEntry,
  AnswerBatches,
  AnswerRequest,
  LinkedAgent,
  ObjectRun,
  QueuedMessage,
  RequestOptions,
  StoredSessions,
} from './chat-link.ts';
export { readChatTurn } from './chat-turn.ts';
export type { ChatLimits, ChatTurnRequest } from './chat-turn.ts';
export { checkDecisionSize, decisionError, runsHere } from './client-decisions.ts';
export { lastRun, pendingCallsOf, storedView } from './last-run.ts';
export { checkMessageId, fieldError, readMessages, readUserMessage } from './posted-fields.ts';
export { hasAnswer, reopenCalls } from './reopen-calls.ts';
export { resumeTurn } from './resume-turn.ts';
export { sessionIdNames } from './session-id-names.ts';
export { storeTitle } from './title.ts';
export { checkFirstTurn, newMessages } from './turn-request.ts';
export type { ContinuePoint, TurnRequest } from './turn-request.ts';
export { adoptRecords } from '../memory/adopt-records.ts';
export { digest, toUtf8 } from '../memory/digest.ts';
export {
  closedByMoveId,
  endedCallsOf,
  endedIdsOf,
  withEndedCalls,
} from '../memory/move/ended-calls.ts';
export { endpointHere, endpointPlace } from '../memory/move/endpoint-place.ts';
export type { EndpointPlaceOptions } from '../memory/move/endpoint-place.ts';
export { moveSession } from '../memory/move/move-session.ts';
export type { MoveOptions } from '../memory/move/move-session.ts';
export { changeOwner } from '../memory/move/owner-change.ts';
export type { ChooseOwner } from '../memory/move/owner-change.ts';
export type { OwnerChange, SessionCopy, SessionPlace } from '../memory/move/session-place.ts';
export {
  copyOfSession,
  messagesOf,
  placeWith,
  sessionViewOf,
  storePlace,
} from '../memory/move/store-place.ts';
export { changesWaitMs, keepAliveHeader, requestEndpoint } from '../endpoint/endpoint-request.ts';
export type { EndpointLimits } from '../endpoint/endpoint-request.ts';
export { valueFor } from '../endpoint/per-request.ts';
export type { PerRequest, RequestHeaders } from '../endpoint/per-request.ts';
export { errorOfResponse } from '../model/http/provider-error.ts';
export { SseParser } from '../model/http/sse-parser.ts';
export { clientJsonMode } from '../output/json-and-yaml-mode.ts';
export {
  failureMark,
  failureText,
  keepAlive,
  objectMediaType,
  restartMark,
} from '../output/object/object-format.ts';
export { objectWriterOf } from '../output/written-output.ts';
export {
  checkWithClientTexts,
  clientTextError,
  clientTextsOf,
  jsonClientText,
} from '../prompt/client-texts.ts';
export type { ClientText } from '../prompt/client-texts.ts';
export { answerEnding, replyEnding } from '../stream/answer-ending.ts';
export type { AnswerEnding } from '../stream/answer-ending.ts';
export { JsonReader } from '../stream/object/json-reader.ts';
export { ObjectReader } from '../stream/object/object-reader.ts';
export { toTimelineEvent } from '../stream/timeline-event.ts';
export { fromUiDecisions } from '../stream/ui/ui-decisions.ts';
export { createUiMessageEncoder } from '../stream/ui/ui-message-encoder.ts';
export type { UiMessageEncoder, UiMessageEncoderOptions } from '../stream/ui/ui-message-encoder.ts';
export { interruptedText } from '../stream/ui/ui-parts.ts';
export { outputToolName } from '../schema/output-format.ts';
export { objectInput, readSchema, textIn } from '../schema/schema.ts';
export { memoryOptions } from '../memory/session-memory-options.ts';
export { endedCallsKey } from '../memory/store/storage-keys.ts';
export { argumentsIn } from '../message/call-arguments.ts';
export { messageIdOf } from '../message/msg.ts';
export { imageDetailFields } from '../message/provider-metadata.ts';
export { titleOf } from '../message/conversation/turns.ts';
export { acceptBlock, acceptMessage, acceptOutput } from '../message/untrusted/accept-untrusted.ts';
export type { AcceptOptions } from '../message/untrusted/accept-untrusted.ts';
export { addressProblem } from '../message/untrusted/media-source.ts';
export type { Sender } from '../message/untrusted/untrusted-fields.ts';
export { isMisuse, withControls } from '../event/hook-controls.ts';
export type { Handling, OnControl } from '../event/hook-controls.ts';
export { checkDecision } from '../event/pending-call.ts';
export { logMemoryOf } from '../memory/memory.ts';
export { maxTokensFieldOf } from '../model/openai/openai.ts';
export { isToolContent } from '../tool/tool-call.ts';
