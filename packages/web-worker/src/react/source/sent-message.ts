import type { UIMessage } from '../chat/ui-message.ts';

/**
 * Message that this browser tab has sent, until the tab has the answer. It survives a reload: an
 * endpoint in KV stores a message only at the end of its turn.
 */
export interface SentMessage {
  get(): UIMessage | undefined;
  set(message: UIMessage): void;
  forget(): void;
}

/** Returns the message in the storage of the tab. `key`: its name there. */
export function sentMessage(key: string): SentMessage {
  return {
    get: () => tryTo(() => JSON.parse(sessionStorage[key] as string) as UIMessage),
    set: (message) => tryTo(() => (sessionStorage[key] = JSON.stringify(message))),
    forget: () => tryTo(() => delete sessionStorage[key]),
  };
}

/** Returns `undefined` if there is no message, or if the browser refuses to store it. */
function tryTo<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
