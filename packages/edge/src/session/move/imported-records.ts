import { AgentError, createMessage, toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { Msg, PendingCall } from '@isoloop/core';
import { metadataOf, parseHistory, viewOf } from '@isoloop/core/adapter';
import type { LogRecord, SessionCopy, SessionView } from '@isoloop/core/adapter';
import { withoutSystem } from '../../completions/completion-messages.ts';
import type { HandlerSettings } from '../../handler-options.ts';
import { checkJudged, type JudgeSetup } from './judge-messages.ts';

/** What an import needs to know. */
export interface ImportSetup extends JudgeSetup {
  readonly settings: JudgeSetup['settings'] & Pick<HandlerSettings, 'limits' | 'systemMessages'>;
  /** The session that the endpoint has. */
  readonly stored: SessionView;
  /** Number of the first messages that the endpoint has signed. */
  readonly signed: number;
}

/** Names of a message's metadata that tell how a run ended. A client may claim only these. */
const claimable = ['runId', 'partial', 'reason', 'finishReason', 'usage'] as const;

const maxTitle = 200;

/**
 * Returns the records to store for a session that a client sends. Messages that the endpoint has
 * stored or signed stay as they are. The other messages are claims of the client: they pass the
 * checks and guards, and are marked with `metadata.imported`. No tool call of the copy runs without a
 * new approval. Throws `PAYLOAD_TOO_LARGE`, `INVALID_MESSAGE`, `INVALID_STATE` or `GUARD_REJECTED`.
 */
export async function importedRecords(
  { records }: SessionCopy,
  setup: ImportSetup,
): Promise<readonly LogRecord[]> {
  const copy = viewOf(records);
  const messages = parseHistory(copy.messages);
  const { stored, signed, settings } = setup;
  checkSizes(messages, settings.limits);
  const known = Math.max(signed, sameStart(stored.messages, messages));
  const claims = messages.slice(known).map(asClaim);
  const judged = await checkJudged(
    settings.systemMessages === 'keep' ? claims : withoutSystem(claims),
    setup,
  );
  const all = [...messages.slice(0, known), ...judged];
  return [
    ...all.map((message): LogRecord => ({ kind: 'message', message })),
    ...openCallRecords(all, copy),
    ...stateRecords(copy, stored),
  ];
}

/** Returns the number of messages with which both lists begin. */
function sameStart(stored: readonly Msg[], messages: readonly Msg[]): number {
  const other = stored.findIndex(
    (message, at) => JSON.stringify(message) !== JSON.stringify(messages[at]),
  );
  return other < 0 ? stored.length : other;
}

function asClaim({ id, role, name, content, createdAt, ...message }: Msg): Msg {
  const told = Object.entries(metadataOf(message)).filter(([key]) =>
    (claimable as readonly string[]).includes(key),
  );
  const metadata = { ...Object.fromEntries(told), ...(role !== 'user' && { imported: true }) };
  return { id, role, ...(name !== undefined && { name }), content, createdAt, metadata };
}

/**
 * Returns what the open tool calls of a copy wait for. A call that may have started gets an
 * `interrupted` result. All others wait for an approval, or for their result from outside.
 */
function openCallRecords(messages: readonly Msg[], copy: SessionView): readonly LogRecord[] {
  const uses = messages.flatMap(toolUsesOf).filter(({ id }) => copy.calls.has(id));
  const isStarted = (id: string): boolean => {
    const { started, pending } = copy.calls.get(id) ?? {};
    return started === true && !pending;
  };
  const cutOff = uses.filter(({ id }) => isStarted(id));
  const waiting = uses.filter(({ id }) => !isStarted(id));
  const results = cutOff.map(({ id, name }): LogRecord => {
    const output = 'The tool call was interrupted by a move of the conversation.';
    const result = {
      type: 'tool_result',
      toolUseId: id,
      name,
      output,
      state: 'interrupted',
    } as const;
    return { kind: 'message', message: createMessage('tool', [result]) };
  });
  if (!waiting.length) return results;
  const runId = crypto.randomUUID();
  const calls = waiting.map(({ id, name, input }) => {
    const kind = copy.calls.get(id)?.pending?.kind === 'external' ? 'external' : 'approval';
    const pending: PendingCall = { toolUseId: id, name, input, kind };
    return { pending };
  });
  return [
    ...results,
    { kind: 'run-begin', runId },
    { kind: 'suspended', calls },
    { kind: 'run-end', runId, reason: 'suspended' },
  ];
}

/** Returns the title and the values. Other state, such as active groups of tools, gives rights. */
function stateRecords(copy: SessionView, stored: SessionView): readonly LogRecord[] {
  const { title, values } = copy.state;
  const isKnown = JSON.stringify(values) === JSON.stringify(stored.state['values']);
  const state = {
    ...(typeof title === 'string' && { title: title.slice(0, maxTitle) }),
    ...(values !== undefined && { values }),
    ...(values !== undefined && !isKnown && { imported: true }),
  };
  return Object.keys(state).length ? [{ kind: 'state', state }] : [];
}

function checkSizes(messages: readonly Msg[], limits: HandlerSettings['limits']): void {
  if (messages.length > limits.messages)
    throw tooLarge(`The session has more than ${limits.messages} messages.`);
  const isLong = (output: unknown): boolean =>
    JSON.stringify(output).length > limits.toolResultChars;
  if (messages.flatMap(toolResultsOf).some(({ output }) => isLong(output)))
    throw tooLarge(`A result of the session has more than ${limits.toolResultChars} characters.`);
}

function tooLarge(message: string): AgentError {
  return new AgentError('PAYLOAD_TOO_LARGE', message);
}
