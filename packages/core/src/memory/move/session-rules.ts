import { AgentError } from '../../error/agent-error.ts';
import { isOperated } from '../../message/metadata.ts';
import type { Msg } from '../../message/msg.ts';
import type { LogRecord } from '../log/log-record.ts';
import { LogFold, type SessionView } from '../log/session-view.ts';
import { checkHere, type SessionOwner } from '../log/stored-head.ts';
import { signatureKey } from '../store/storage-keys.ts';
import type { StoredSession } from './owner-change.ts';
import { copyFormat, copyVersion, type OwnerChange, type SessionCopy } from './session-place.ts';

/** Returns a stored session as a copy. `name`: name of its place. */
export function copyOfSession(
  sessionId: string,
  name: string,
  { view, records, owner, tip = '' }: StoredSession,
): SessionCopy & { readonly owner: OwnerChange } {
  const isHere = !owner?.owner.includes(':');
  const epoch = owner?.epoch ?? 0;
  const signature = view.state[signatureKey];
  return {
    format: copyFormat,
    version: copyVersion,
    sessionId,
    records,
    owner: isHere
      ? { owner: name, epoch, copyOf: tip }
      : { owner: owner!.owner, epoch, copyOf: owner!.copyOf ?? '' },
    isRunning: isRunning(view) || isOperated(view.messages),
    ...(typeof signature === 'string' && { signature }),
  };
}

/** Returns whether the last run has not ended. It is active, or its host is gone. */
function isRunning({ openRun, ended }: StoredSession['view']): boolean {
  return openRun !== undefined && ended === undefined;
}

/**
 * Throws `SESSION_CONFLICT` if a place has a session that the copy must not replace. It may replace
 * another copy, and an older part of the same session. Throws `SESSION_MOVED` for a backup of a
 * session that belongs to another place, and `AGENT_BUSY` if a run or an operator writes here.
 */
export function checkPut(
  { records, owner }: SessionCopy,
  { view, ...stored }: StoredSession,
): void {
  if (stored.tip === undefined) return;
  // A backup would make a second owner.
  if (!owner) checkHere(stored);
  const { epoch = 0, owner: holder } = stored.owner ?? {};
  if (owner && epoch > owner.epoch) throw conflict('This place has a later owner of the session.');
  if (holder?.includes(':')) return;
  if (isRunning(view)) throw new AgentError('AGENT_BUSY', 'The session is running here.');
  checkNotOperated(view);
  if (!isStart(view.messages, messagesOf(records)))
    throw conflict('This place has messages of the session that the copy does not have.');
}

/**
 * Returns the owner that a place writes for a change, or `undefined` if it has it already. Throws the
 * errors of `SessionPlace.own`.
 */
export function ownerAfter(
  change: OwnerChange,
  name: string,
  { owner, tip, view }: Omit<StoredSession, 'records'>,
): SessionOwner | undefined {
  if (!change.owner.includes(':'))
    throw new AgentError('INVALID_INPUT', 'The owner must be the name of a place, with a colon.');
  if (tip === undefined) throw new AgentError('NOT_FOUND', 'There is no such session.');
  if (change.owner === name) return taken(change, owner);
  const next = given(change, owner, tip);
  if (next) checkNotOperated(view);
  return next;
}

function taken(
  { epoch, copyOf }: OwnerChange,
  stored: SessionOwner | undefined,
): SessionOwner | undefined {
  const isHere = !stored?.owner.includes(':');
  const before = stored?.epoch ?? 0;
  if (before >= epoch) {
    checkHere({ owner: stored });
    return undefined;
  }
  if (!isHere && before === epoch - 1 && stored?.copyOf === copyOf)
    return { owner: crypto.randomUUID(), epoch };
  throw new AgentError('SESSION_STALE', 'This place has another copy of the session.');
}

function given(
  change: OwnerChange,
  stored: SessionOwner | undefined,
  tip: string,
): SessionOwner | undefined {
  if (stored?.owner === change.owner && stored.epoch === change.epoch) return undefined;
  checkHere({ owner: stored });
  if (change.epoch === (stored?.epoch ?? 0) + 1 && change.copyOf === tip) return change;
  throw conflict('The session has changed since it was copied.');
}

/** Throws `AGENT_BUSY` while an operator answers, who could not reach the session in another place. */
function checkNotOperated({ messages }: StoredSession['view']): void {
  if (!isOperated(messages)) return;
  const message = 'A person answers in the conversation. It can move when this person has left.';
  throw new AgentError('AGENT_BUSY', message, { retryable: true });
}

/** Returns whether the messages begin with these ones. */
function isStart(start: readonly Msg[], messages: readonly Msg[]): boolean {
  return start.every((message, at) => JSON.stringify(message) === JSON.stringify(messages[at]));
}

function conflict(message: string): AgentError {
  return new AgentError('SESSION_CONFLICT', message);
}

/** Returns the state of a session from its records. */
export function viewOf(records: readonly LogRecord[]): SessionView {
  return new LogFold().add(records);
}

/** Returns the messages of a session from its records, as agents read them. */
export function messagesOf(records: readonly LogRecord[]): readonly Msg[] {
  return viewOf(records).messages;
}
