export interface CountedSignal {
  readonly signal: AbortSignal;
  readonly listenerCount: () => number;
}

/** Returns a signal that counts its listeners. */
export function countedSignal(): CountedSignal {
  const listeners = new Set<unknown>();
  const { signal } = new AbortController();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type: string, listener: EventListener) => {
    listeners.add(listener);
    addEventListener.call(signal, type, listener);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    listeners.delete(listener);
    removeEventListener.call(signal, type, listener);
  };
  return { signal, listenerCount: () => listeners.size };
}
