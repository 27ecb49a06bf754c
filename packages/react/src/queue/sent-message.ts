import { isToolUIPart, type UIMessage, type UIMessagePart } from '@isoloop/core/stream';
import { tryStorage } from './tab-storage.ts';

/**
 * Message that this browser tab has sent, until the tab has the answer. The tab keeps it over a
 * reload, because an endpoint in KV stores a message only at the end of its turn. A chat that
 * nobody shows keeps nothing in the tab, which may have another person by then.
 */
export class SentMessage {
  readonly #key: string;
  #message: UIMessage | undefined;
  /** What this chat has stored in the tab. */
  #stored: string | undefined;
  #isShown = true;

  /** `key`: name of the message in the storage of the tab. */
  constructor(key: string) {
    this.#key = key;
    this.#stored = tryStorage(() => sessionStorage[key] as string);
    this.#message = tryStorage(() => JSON.parse(this.#stored!) as UIMessage);
  }

  get(): UIMessage | undefined {
    return this.#message;
  }

  set(message: UIMessage): void {
    this.#message = message;
    if (this.#isShown) this.#store();
  }

  /** Removes the message from the tab, because no component shows the chat any more. */
  leave(): void {
    this.#isShown = false;
    this.#remove();
  }

  /** Stores the message again, because a component shows the chat again. */
  enter(): void {
    this.#isShown = true;
    if (this.#message) this.#store();
  }

  forget(): void {
    this.#message = undefined;
    this.#remove();
  }

  /** Stores no message without a JSON form, which the agent refuses. */
  #store(): void {
    this.#stored = tryStorage(() => {
      const text = JSON.stringify(this.#message);
      sessionStorage[this.#key] = text;
      return text;
    });
  }

  /** The next chat of the tab may have stored a message of its own. */
  #remove(): void {
    tryStorage(() => {
      if (sessionStorage[this.#key] === this.#stored) delete sessionStorage[this.#key];
    });
    this.#stored = undefined;
  }
}

/** Returns whether the history has the message, or what the agent did with its decisions. */
export function isInHistory(
  { id, role, parts }: UIMessage,
  history: readonly UIMessage[],
): boolean {
  if (role === 'user') return history.some((message) => message.id === id);
  const waitingIds = history.flatMap((message) => callIds(message.parts, 'approval-requested'));
  return !callIds(parts, 'approval-responded').some((each) => waitingIds.includes(each));
}

/** Returns the ids of the tool calls in a state. */
function callIds(parts: readonly UIMessagePart[], state: string): readonly string[] {
  return parts.flatMap((part) =>
    isToolUIPart(part) && part.state === state ? part.toolCallId : [],
  );
}
