import { tryStorage } from './tab-storage.ts';

/** Where the browser keeps the messages of a conversation that wait in this page. */
export interface HeldPlace {
  /** Absent if the browser refuses it. */
  readonly storage: Storage | undefined;
  /** Beginning of the keys. Each message has a key of its own, so that two tabs can write. */
  readonly prefix: string;
  /** Whether other tabs see the messages, and send them, too. */
  readonly isShared: boolean;
}

/** `key`: name of the conversation. */
export function heldPlace(name: 'localStorage' | 'sessionStorage', key: string): HeldPlace {
  const isShared = name === 'localStorage';
  return { storage: tryStorage(() => globalThis[name]), prefix: `isoloop:queue:${key}:`, isShared };
}

/** Returns the keys of the messages in the order of time. */
export function heldKeys({ storage, prefix }: HeldPlace): readonly string[] {
  return Object.keys(storage ?? {})
    .filter((key) => key.startsWith(prefix))
    .toSorted();
}

/** Forgets the messages, for example because the conversation is deleted. */
export function clearHeld(place: HeldPlace): void {
  for (const key of heldKeys(place)) place.storage!.removeItem(key);
}

/** Calls `listener` when another tab has changed the messages. Returns what ends this. */
export function watchHeld({ storage, prefix }: HeldPlace, listener: () => void): () => void {
  const onStorage = ({ key, storageArea }: StorageEvent): void => {
    if (storageArea === storage && key?.startsWith(prefix)) listener();
  };
  addEventListener('storage', onStorage);
  return () => removeEventListener('storage', onStorage);
}
