import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note } from './things.ts';

/**
 * Notes all connections of the page to IndexedDB until they are closed. A store of Isoloop closes
 * its connection when its database is deleted.
 */
export function watchDatabases(): void {
  if (!isFirstPatch(IDBFactory.prototype)) return;
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function openNoted(name, ...version) {
    const origin = captureOrigin();
    const request = open.call(this, name, ...version);
    request.addEventListener('success', () => {
      const db = request.result;
      note(db, { kind: 'database', phrase: `a connection to the database ${name}`, origin });
      db.addEventListener('close', () => forget(db));
    });
    return request;
  };
  const { close } = IDBDatabase.prototype;
  IDBDatabase.prototype.close = function closeNoted() {
    close.call(this);
    forget(this);
  };
}
