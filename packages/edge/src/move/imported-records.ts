import {
  AgentError,
  createMessage,
  toolResultsOf,
  toolUsesOf,
  type JsonValue,
  type Msg,
  type ToolUse,
} from '@isoloop/core';
import { metadataOf, parseHistory } from '@isoloop/core/message';
import { acceptMessage, jsonClientText, type ClientText } from '@isoloop/core/host';
import { closedByMoveId, endedIdsOf, sessionViewOf, type SessionCopy } from '@isoloop/core/move';
import type { LogRecord, SessionView } from '@isoloop/core/log';
import type { CallState } from '@isoloop/core/event';
import { withoutSystem } from '../api/without-system.ts';
import type { HandlerSettings } from '../settings/handler-options.ts';
import type { SignedParts } from './copy-signature.ts';
import { guardMessages, type GuardSetup } from './guard-messages.ts';

/** What an import needs to know. */
export interface ImportSetup extends GuardSetup {
  readonly settings: GuardSetup['settings'] & HandlerSettings;
  /** The session that the endpoint has. */
  readonly storedView: SessionView;
  /** The parts of the copy that the endpoint has signed. */
  readonly signedParts: SignedParts;
}

const maxTitleLength = 200;

/**
 * Returns the records to store for a session that a client sends. Messages that the endpoint has
 * stored or signed stay as they are. The other messages are untrusted: of their fields, only some
 * pass. The checks and guards judge them, and values that the endpoint does not have. They are
 * marked with `metadata.imported`. No tool call of the copy runs without a new approval. Throws
 * `PAYLOAD_TOO_LARGE`, `INVALID_MESSAGE`, `INVALID_STATE` or `GUARD_REJECTED`.
 */
export async function importedRecords(
  { records }: SessionCopy,
  setup: ImportSetup,
): Promise<readonly LogRecord[]> {
  const copy = sessionViewOf(records);
  const messages = parseHistory(copy.messages);
  const { storedView, signedParts, settings } = setup;
  checkSizes(messages, settings.limits);
  const storedCount = sharedCount(storedView.messages, messages);
  const trustedCount = Math.max(signedParts.messageCount, storedCount);
  const mayEdit = setup.setup.mayEdit !== false;
  const untrusted = messages
    .slice(trustedCount)
    .map((message) => acceptMessage(message, { sender: 'import' }));
  let { values } = copy.state;
  const isKnown = JSON.stringify(values) === JSON.stringify(storedView.state['values']);
  const acceptedMessages = await guardMessages(
    withoutSystem(untrusted),
    setup,
    isKnown ? [] : textsOfValues(values, (acceptedValues) => (values = acceptedValues)),
  );
  const allMessages = [...messages.slice(0, trustedCount), ...acceptedMessages];
  return [
    ...allMessages.map((message): LogRecord => ({ kind: 'message', message })),
    ...openCallRecords(allMessages, copy, {
      storedCount,
      trustedCount,
      storedView,
      endedIds: endedIdsOf(storedView),
      signedParts,
      mayEdit,
    }),
    ...stateRecords(copy, {
      values,
      isImported: !isKnown || storedView.state['imported'] === true,
    }),
  ];
}

/** Returns the number of messages with which both lists begin. */
function sharedCount(storedMessages: readonly Msg[], messages: readonly Msg[]): number {
  const firstDifferent = storedMessages.findIndex(
    (message, at) => JSON.stringify(message) !== JSON.stringify(messages[at]),
  );
  return firstDifferent < 0 ? storedMessages.length : firstDifferent;
}

/** Who wrote the tool calls of the messages: this endpoint, or the client. */
interface Origin {
  /** Number of the first messages that the endpoint has stored. */
  readonly storedCount: number;
  /** Number of the first messages that the endpoint has stored or signed. */
  readonly trustedCount: number;
  readonly storedView: SessionView;
  /** Ids of the tool calls that have run here. */
  readonly endedIds: ReadonlySet<string>;
  readonly signedParts: SignedParts;
  readonly mayEdit: boolean;
}

type SuspendedCall = Extract<LogRecord, { readonly kind: 'suspended' }>['calls'][number];

/**
 * Returns what the open tool calls of a copy wait for. All others get an `interrupted` result.
 */
function openCallRecords(
  messages: readonly Msg[],
  copy: SessionView,
  origin: Origin,
): readonly LogRecord[] {
  const openCalls = messages.flatMap((message, at) =>
    toolUsesOf(message).flatMap((use) => {
      const state = copy.calls.get(use.id);
      return state ? [{ use, suspension: suspensionOf(use, { message, at, state, origin }) }] : [];
    }),
  );
  const results = openCalls.flatMap(({ use, suspension }): LogRecord[] =>
    suspension ? [] : [interruptedCall(use)],
  );
  const calls = openCalls.flatMap(({ suspension }) => suspension ?? []);
  if (!calls.length) return results;
  const runId = crypto.randomUUID();
  return [
    ...results,
    { kind: 'run-begin', runId },
    { kind: 'suspended', calls },
    { kind: 'run-end', runId, reason: 'suspended' },
  ];
}

/** A tool call that is open in the copy. */
interface CopiedCall {
  readonly message: Msg;
  /** Position of the message. */
  readonly at: number;
  /** State of the call in the copy. */
  readonly state: CallState;
  readonly origin: Origin;
}

/**
 * Returns what an open tool call waits for. Returns `undefined` for a call that must not run any
 * more: it may have started, or only the client says what it waits for.
 */
function suspensionOf(use: ToolUse, copiedCall: CopiedCall): SuspendedCall | undefined {
  const { state } = copiedCall;
  const storedState = knownState(use.id, copiedCall);
  // The client has changed the message of a tool call that has run here.
  const { at, origin } = copiedCall;
  if (at >= origin.trustedCount && origin.endedIds.has(use.id)) return undefined;
  if (storedState?.started || (state.started && !state.pending)) return undefined;
  const { toolUse, waitedFor, pending = waitedFor } = storedState ?? {};
  if (pending) return { pending, ...(toolUse && { toolUse }) };
  return assumedWait(use, { ...copiedCall, state: storedState ?? state });
}

/** Returns what an open tool call waits for, if the endpoint itself does not know it. */
function assumedWait(
  { id, name, input }: ToolUse,
  { message, at, state, origin }: CopiedCall,
): SuspendedCall | undefined {
  const { kind = 'approval' } = state.pending ?? {};
  const call = { toolUseId: id, name, input };
  const isOurs = at < origin.trustedCount;
  // With a result from outside, a client could answer a tool call of the endpoint.
  if (kind === 'external') return isOurs ? undefined : { pending: { ...call, kind } };
  if (kind !== 'approval') return undefined;
  if (isOurs && !metadataOf(message).imported) return { pending: { ...call, kind } };
  // The client has written the arguments.
  return origin.mayEdit ? { pending: { ...call, kind, reason: importedCall } } : undefined;
}

/** Returns the state of an open tool call that the endpoint has stored or signed. */
function knownState(
  id: string,
  { at, state, origin }: Omit<CopiedCall, 'message'>,
): CallState | undefined {
  // A call that is not open here has its result, which the copy left out.
  if (at < origin.storedCount) return origin.storedView.calls.get(id) ?? { started: true };
  return at < origin.trustedCount && origin.signedParts.callIds.has(id) ? state : undefined;
}

/** Reason of the approval of a tool call that no model of the endpoint has made. */
const importedCall = 'Imported: this tool call was not made here.';

function interruptedCall({ id, name }: ToolUse): LogRecord {
  const output = 'The tool call was interrupted by a move of the conversation.';
  const result = {
    type: 'tool_result',
    toolUseId: id,
    name,
    output,
    state: 'interrupted',
  } as const;
  const message = createMessage('tool', [result], { id: closedByMoveId(id) });
  return { kind: 'message', message };
}

/** Returns the texts of values, for the guards. Prompts may show values of the session. */
function textsOfValues(
  values: JsonValue | undefined,
  take: (acceptedValues: JsonValue) => void,
): readonly ClientText[] {
  if (values === undefined) return [];
  const text = jsonClientText(values, take);
  return text.message.content.length ? [text] : [];
}

/** Returns the title and the values. Other state, such as active groups of tools, gives rights. */
function stateRecords(
  copy: SessionView,
  { values, isImported }: { values: JsonValue | undefined; isImported: boolean },
): readonly LogRecord[] {
  const { title } = copy.state;
  const state = {
    ...(typeof title === 'string' && { title: title.slice(0, maxTitleLength) }),
    ...(values !== undefined && { values, ...(isImported && { imported: true }) }),
  };
  return Object.keys(state).length ? [{ kind: 'state', state }] : [];
}

function checkSizes(messages: readonly Msg[], limits: HandlerSettings['limits']): void {
  if (messages.length > limits.messages)
    throw tooLargeError(`The session has more than ${limits.messages} messages.`);
  const isLong = (output: unknown): boolean =>
    JSON.stringify(output).length > limits.toolResultChars;
  if (messages.flatMap(toolResultsOf).some(({ output }) => isLong(output)))
    throw tooLargeError(
      `A result of the session has more than ${limits.toolResultChars} characters.`,
    );
}

function tooLargeError(message: string): AgentError {
  return new AgentError('PAYLOAD_TOO_LARGE', message);
}
