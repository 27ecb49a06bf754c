// What a turn does to the log of its session, from the request of a client to its answer.
export { answerSoFar, eventWith, withEarlierAnswer } from './answer-so-far.ts';
export { beginTurn } from './begin-turn.ts';
export type { BeginTurnOptions, TurnInput } from './begin-turn.ts';
export { pendingCallsOf, storedView } from './stored-view.ts';
export { hasAnswer, reopenCalls } from './reopen-calls.ts';
export { resumeTurn } from './resume-turn.ts';
export { storeTitle } from './title.ts';
export { titleOf } from '../message/conversation/turns.ts';
export { checkFirstTurn, newMessages } from './turn-request.ts';
export type { ContinuePoint, TurnRequest } from './turn-request.ts';

// Reads and checks what a client or a page sends.
export { readChatTurn } from './chat-turn.ts';
export type { ChatLimits, ChatTurnRequest } from './chat-turn.ts';
export { checkDecisionSize, decisionError, runsHere } from './client-decisions.ts';
export { checkMessageId, fieldError, readMessages, readUserMessage } from './posted-fields.ts';
export { sessionIdNames } from './session-id-names.ts';
export { checkDecision } from '../event/pending-call.ts';
export { argumentsIn } from '../message/call-arguments.ts';
export { imageDetailFields } from '../message/provider-metadata.ts';
export { acceptBlock, acceptMessage, acceptOutput } from '../message/untrusted/accept-untrusted.ts';
export { addressProblem } from '../message/untrusted/media-source.ts';
export { clientJsonMode } from '../output/json-and-yaml-mode.ts';
export { checkWithClientTexts, clientTextError, jsonClientText } from '../prompt/client-texts.ts';
export type { ClientText } from '../prompt/client-texts.ts';
export { outputToolName } from '../schema/output-format.ts';
export { readSchema } from '../schema/schema.ts';
export { isToolContent } from '../tool/tool-call.ts';

// The chat of a page, which is the same for a worker and for an endpoint.
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

// Runs, hooks and memories of an agent that lives elsewhere.
export { mayAskForApproval } from '../approval/approving-agent.ts';
export { isMisuse, withControls } from '../event/hook-controls.ts';
export { eventLogShortener } from '../event/readers/event-log.ts';
export type { EventLog, EventLogEntry } from '../event/readers/event-log.ts';
export { RunDriver } from '../event/readers/run-driver.ts';
export { digest } from '../memory/digest.ts';
export { logMemoryOf } from '../memory/memory.ts';
export { memoryOptions } from '../memory/session-memory-options.ts';
export { messageIdOf } from '../message/msg.ts';
