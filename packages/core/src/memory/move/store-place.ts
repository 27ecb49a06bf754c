import { AgentError, misconfigured, checkFields, checkOptions } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import { checkRecords, type LogRecord } from '../log/log-record.ts';
import { signatureKey } from '../store/storage-keys.ts';
import { changeOwner, type ChooseOwner, type StoredSession } from './owner-change.ts';
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
  readonly stop?: (sessionId: string) => Promise<void>;
}

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
  const fields = 'name:string store:keys() keyOf,stop:function|?';
  checkOptions('storePlace()', options, fields);
  const { name, store, keyOf = (id: string) => id, stop } = options;
  const place = placeWith({
    name,
    change: (sessionId, choose) => changeOwner(store, keyOf(sessionId), choose),
  });
  return { ...place, ...(stop && { stop }) };
}

/**
 * Returns a place that reads and writes its sessions with `change`. Throws `CONFIGURATION` for a
 * name without a colon, because records of owners would take it for a writer.
 */
export function placeWith({ name, change, accept }: PlaceOptions): SessionPlace {
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
    put: async (copy) =>
      void (await change(copy.sessionId, async (stored) => {
        checkCopy(copy, name);
        checkPut(copy, stored);
        const { signature } = copy;
        const signed: LogRecord = { kind: 'state', state: { [signatureKey]: signature ?? null } };
        let records: readonly LogRecord[] = [...copy.records, signed];
        if (accept) records = await accept(copy, stored);
        const here = { owner: crypto.randomUUID(), epoch: (stored.owner?.epoch ?? 0) + 1 };
        return { records, owner: copy.owner ?? here };
      })),
    own: async (sessionId, next) =>
      void (await change(sessionId, (stored) => {
        const owner = ownerAfter(next, name, stored);
        return owner && { owner };
      })),
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
