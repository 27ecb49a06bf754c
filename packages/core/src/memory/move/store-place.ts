import { AgentError } from '../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../error/check-fields.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { checkRecords, type LogRecord } from '../log/log-record.ts';
import { signatureKey } from '../storage-keys.ts';
import { changeOwner, type StoredSession } from './owner-change.ts';
import { copyFormat, copyVersion, type SessionCopy, type SessionPlace } from './session-place.ts';
import { checkPut, copyOfSession, ownerAfter } from './session-rules.ts';

/** The store of a `storePlace()`, and what happens when a session leaves or arrives. */
export interface StorePlaceOptions {
  /** Name of the place. See `SessionPlace`. */
  readonly name: string;
  /** Store with `compareAndSet`. */
  readonly store: KeyValueStore;
  /** Returns the id of a session in the store. Default: the session's own id. */
  readonly keyOf?: (sessionId: string) => string;
  /**
   * Returns the records to store for a copy, whose records are valid. Default: the copy's own
   * records, because a program that the user trusts made the copy.
   */
  readonly accept?: (copy: SessionCopy, stored: StoredSession) => Awaitable<readonly LogRecord[]>;
  readonly stop?: (sessionId: string) => Promise<void>;
}

/** Returns the place of the sessions in a store with `compareAndSet`. */
export function storePlace(options: StorePlaceOptions): SessionPlace {
  const fields = 'name:string store:keys() keyOf,accept,stop:function|?';
  checkOptions('storePlace()', options, fields);
  const { name, store, keyOf = (id: string) => id, accept, stop } = options;
  return {
    name,
    async read(sessionId) {
      let copy: SessionCopy | undefined;
      await changeOwner(store, keyOf(sessionId), (stored) => {
        if (stored.tip !== undefined) copy = copyOfSession(sessionId, name, stored);
        return undefined;
      });
      return copy;
    },
    put: (copy) =>
      changeOwner(store, keyOf(copy.sessionId), async (stored) => {
        checkCopy(copy, name);
        checkPut(copy, stored);
        const { signature } = copy;
        const signed: LogRecord = { kind: 'state', state: { [signatureKey]: signature ?? null } };
        const records = accept ? await accept(copy, stored) : [...copy.records, signed];
        const here = { owner: crypto.randomUUID(), epoch: (stored.owner?.epoch ?? 0) + 1 };
        return { records, owner: copy.owner ?? here };
      }),
    own: (sessionId, change) =>
      changeOwner(store, keyOf(sessionId), (stored) => {
        const owner = ownerAfter(change, name, stored);
        return owner && { owner };
      }),
    ...(stop && { stop }),
  };
}

/**
 * Throws `INVALID_STATE` if this is no copy of a session in the present format. `name`: name of the
 * place that stores it.
 */
export function checkCopy(copy: SessionCopy, name: string): void {
  const { format, version, owner, records } = Object(copy) as Partial<SessionCopy>;
  if (format !== copyFormat)
    throw new AgentError('INVALID_STATE', 'The value is not an exported session.');
  if (version !== copyVersion) {
    const message = `The session's format is ${String(version)}; this library reads ${copyVersion}.`;
    throw new AgentError('INVALID_STATE', message);
  }
  checkFields('A session', copy, 'sessionId:string records:array', 'INVALID_STATE');
  if (owner)
    checkFields('An owner', owner, 'owner:string epoch:whole copyOf:string|?', 'INVALID_STATE');
  if (owner && (!owner.owner.includes(':') || owner.owner === name))
    throw new AgentError('INVALID_STATE', 'The owner of a copy must be another place.');
  checkRecords(records ?? []);
}
