import { isToolUIPart, type UIMessage, type UIMessagePart } from '../chat/ui-message.ts';
import { tryStorage } from './tab-storage.ts';

/**
 * Message that this browser tab has sent, until the tab has the answer. It survives a reload: an
 * endpoint in KV stores a message only at the end of its turn.
 */
export interface SentMessage {
  get(): UIMessage | undefined;
  set(message: UIMessage): void;
  forget(): void;
}

/** Returns the message that the tab has sent. `key`: its name in the storage of the tab. */
export function sentMessage(key: string): SentMessage {
  let message = tryStorage(() => JSON.parse(sessionStorage[key] as string) as UIMessage);
  return {
    get: () => message,
    set(sent) {
      message = sent;
      tryStorage(() => (sessionStorage[key] = JSON.stringify(sent)));
    },
    forget() {
      message = undefined;
      tryStorage(() => delete sessionStorage[key]);
    },
  };
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
