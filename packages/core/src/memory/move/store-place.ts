import { AgentError, misconfigured, fieldsOf } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import { isOperated } from '../../message/metadata.ts';
import type { Msg } from '../../message/msg.ts';
import { checkRecords, type LogRecord } from '../log/log-record.ts';
import { SessionFold } from '../log/session-fold.ts';
import type { SessionView } from '../log/session-view.ts';
import { checkNotMoved, type Ownership } from '../log/stored/stored-head.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import { signatureKey } from '../store/storage-keys.ts';
import { checkNotOlder, endedCallsBefore, endedCallsKey } from './ended-calls.ts';
import { changeOwner, type ChooseOwner, type StoredSession } from './owner-change.ts';
import {
  copyFormat,
  copyVersion,
  type OwnerChange,
  type SessionCopy,
  type SessionPlace,
} from './session-place.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { array, func, optional, string, whole, withMethod } from '../../error/options/kinds.ts';
import type { FieldTable, OptionTable } from '../../error/options/option-table.ts';

/** The store of a `storePlace()`, and what happens when a session leaves or arrives. */
export interface StorePlaceOptions {
  /** Name of the place. See `SessionPlace`. */
  readonly name: string;
  /** Store with `compareAndSet`. */
  readonly store: KeyValueStore;
  /** Returns the id of a session in the store. Default: the session's own id. */
  readonly keyOf?: (sessionId: string) => string;
  readonly stop?: (sessionId: string) => Promise<void>;
}

/** How the sessions of a place are read and written. */
export interface PlaceOptions {
  readonly name: string;
  /** Reads a session and writes its next owner, such as `changeOwner`. */
  readonly change: (sessionId: string, choose: ChooseOwner) => Promise<unknown>;
  /**
   * Returns the records to store for a copy, whose records are valid. Default: the copy's own
   * records, because a program that the user trusts made the copy.
   */
  readonly accept?: (copy: SessionCopy, stored: StoredSession) => Awaitable<readonly LogRecord[]>;
}

/**
 * Returns the place of the sessions in a store with `compareAndSet`. Throws `CONFIGURATION` for a
 * name without a colon.
 */
export function storePlace(options: StorePlaceOptions): SessionPlace {
  checkOptions('storePlace()', options, storePlaceOptions);
  const { name, store, keyOf = (id: string) => id, stop } = options;
  const place = placeWith({
    name,
    change: (sessionId, choose) => changeOwner(store, keyOf(sessionId), choose),
  });
  return { ...place, ...(stop && { stop }) };
}

const storePlaceOptions: OptionTable<StorePlaceOptions> = {
  name: string,
  store: withMethod('keys'),
  keyOf: optional(func),
  stop: optional(func),
};

const placeOptions: OptionTable<PlaceOptions> = {
  name: string,
  change: func,
  accept: optional(func),
};

/**
 * Returns a place that reads and writes its sessions with `change`. Throws `CONFIGURATION` for a
 * name without a colon, because records of owners would take it for a writer.
 */
export function placeWith(options: PlaceOptions): SessionPlace {
  checkOptions('placeWith()', options, placeOptions);
  const { name, change, accept } = options;
  if (!name.includes(':')) throw misconfigured(`The name of a place must have a colon: "${name}".`);
  return {
    name,
    async read(sessionId) {
      let copy: SessionCopy | undefined;
      await change(sessionId, (stored) => {
        if (stored.tip !== undefined) copy = copyOfSession(sessionId, name, stored);
        return undefined;
      });
      return copy;
    },
    async put(copy) {
      await change(copy.sessionId, async (session) => {
        checkCopy(copy, name);
        checkPut(copy, session);
        const { signature } = copy;
        const signed: LogRecord = { kind: 'state', state: { [signatureKey]: signature ?? null } };
        let records: readonly LogRecord[] = [...copy.records, signed];
        if (accept) records = await accept(copy, session);
        const nextView = sessionViewOf(records);
        const endedCalls = endedCallsBefore(session.view, nextView);
        const list = endedCalls.length ? endedCalls : null;
        records = [...records, { kind: 'state', state: { [endedCallsKey]: list } }];
        const newOwnership = {
          owner: crypto.randomUUID(),
          epoch: (session.ownership?.epoch ?? 0) + 1,
        };
        return { records, ownership: copy.ownership ?? newOwnership };
      });
    },
    async setOwner(sessionId, next) {
      await change(sessionId, (stored) => {
        const ownership = ownershipAfter(next, name, stored);
        return ownership && { ownership };
      });
    },
  };
}

/**
 * Throws `INVALID_STATE` if this is no copy of a session in the present format. `name`: name of the
 * place that stores it.
 */
function checkCopy(copy: SessionCopy, name: string): void {
  const { format, version, ownership, records }: Partial<SessionCopy> = fieldsOf(copy);
  if (format !== copyFormat)
    throw new AgentError('INVALID_STATE', 'The value is not an exported session.');
  if (version !== copyVersion) {
    const found = typeof version === 'number' ? version : 'no number';
    const message = `The session's format is ${found}; this version of the library reads ${copyVersion}.`;
    throw new AgentError('INVALID_STATE', message);
  }
  checkFields('A session', copy, { sessionId: string, records: array }, 'INVALID_STATE');
  if (ownership) checkFields('An owner', ownership, ownerFields, 'INVALID_STATE');
  if (ownership && (!ownership.owner.includes(':') || ownership.owner === name))
    throw new AgentError('INVALID_STATE', 'The owner of a copy must be another place.');
  checkRecords(records ?? []);
}

const ownerFields: FieldTable<NonNullable<SessionCopy['ownership']>> = {
  owner: string,
  epoch: whole,
  copyOf: optional(string),
};

/** Returns a stored session as a copy. `name`: name of its place. */
export function copyOfSession(
  sessionId: string,
  name: string,
  { view, records, ownership, tip = '' }: StoredSession,
): SessionCopy & { readonly ownership: OwnerChange } {
  const { owner = '', epoch = 0, copyOf = '' } = ownership ?? {};
  const signature = view.state[signatureKey];
  return {
    format: copyFormat,
    version: copyVersion,
    sessionId,
    records,
    ownership: owner.includes(':') ? { owner, epoch, copyOf } : { owner: name, epoch, copyOf: tip },
    isRunning: isRunning(view) || isOperated(view.messages),
    ...(typeof signature === 'string' && { signature }),
  };
}

/** Returns whether the last run has not ended. It is active, or its host is gone. */
function isRunning({ openRunId, endReason }: StoredSession['view']): boolean {
  return openRunId !== undefined && endReason === undefined;
}

/**
 * Throws `SESSION_CONFLICT` if a place has a session that the copy must not replace. It may replace
 * another copy, and an older part of the same session. Throws `SESSION_MOVED` for a backup of a
 * session that belongs to another place, and `AGENT_BUSY` if a run or an operator writes here.
 * Throws `SESSION_CONFLICT` if a tool call of the copy would run again.
 */
function checkPut({ records, ownership }: SessionCopy, { view, ...session }: StoredSession): void {
  checkNotOlder(sessionViewOf(records), view);
  if (session.tip === undefined) return;
  // A backup would make a second owner.
  if (!ownership) checkNotMoved(session);
  const { epoch = 0, owner } = session.ownership ?? {};
  if (ownership && epoch > ownership.epoch)
    throw conflictError('This place has a later owner of the session.');
  if (owner?.includes(':')) return;
  if (isRunning(view)) throw new AgentError('AGENT_BUSY', 'The session is running here.');
  checkNotOperated(view);
  if (!beginsWith(view.messages, messagesOf(records)))
    throw conflictError('This place has messages of the session that the copy does not have.');
}

/**
 * Returns the ownership that a place writes for a change, or `undefined` if it has it already.
 * Throws the errors of `SessionPlace.setOwner`.
 */
function ownershipAfter(
  change: OwnerChange,
  name: string,
  { ownership, tip, view }: StoredSession,
): Ownership | undefined {
  const { owner, epoch, copyOf } = change;
  if (!owner.includes(':'))
    throw new AgentError('INVALID_INPUT', 'The owner must be the name of a place, with a colon.');
  if (tip === undefined) throw new AgentError('NOT_FOUND', 'There is no such session.');
  if (owner === name) return ownershipHere(change, ownership);
  if (ownership?.owner === owner && ownership.epoch === epoch) return undefined;
  checkNotMoved({ ownership });
  if (epoch !== (ownership?.epoch ?? 0) + 1 || copyOf !== tip)
    throw conflictError('The session has changed since it was copied.');
  checkNotOperated(view);
  return change;
}

/** Returns the ownership that a place writes when it takes a session, or `undefined`. */
function ownershipHere(
  { epoch, copyOf }: OwnerChange,
  ownership: Ownership | undefined,
): Ownership | undefined {
  const ownEpoch = ownership?.epoch ?? 0;
  if (ownEpoch >= epoch) {
    checkNotMoved({ ownership });
    return undefined;
  }
  const isCopy = ownership?.owner.includes(':') && ownership.copyOf === copyOf;
  if (isCopy && ownEpoch === epoch - 1) return { owner: crypto.randomUUID(), epoch };
  throw new AgentError('SESSION_STALE', 'This place has another copy of the session.');
}

/**
 * Throws `AGENT_BUSY` while an operator answers, who could not reach the session in another place.
 */
function checkNotOperated({ messages }: StoredSession['view']): void {
  if (!isOperated(messages)) return;
  const message = 'A person answers in the conversation. It can move when this person has left.';
  throw new AgentError('AGENT_BUSY', message, { retryable: true });
}

/** Returns whether the messages begin with these ones. */
function beginsWith(start: readonly Msg[], messages: readonly Msg[]): boolean {
  return start.every((message, at) => JSON.stringify(message) === JSON.stringify(messages[at]));
}

function conflictError(message: string): AgentError {
  return new AgentError('SESSION_CONFLICT', message);
}

/** Returns the state of a session from its records. */
export function sessionViewOf(records: readonly LogRecord[]): SessionView {
  return new SessionFold().add(records);
}

/** Returns the messages of a session from its records, as agents read them. */
function messagesOf(records: readonly LogRecord[]): readonly Msg[] {
  return sessionViewOf(records).messages;
}
