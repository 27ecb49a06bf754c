import type { UIMessage } from '@isoloop/core/stream';
import type { CalledTool } from './chat.ts';
import type { ChatHandlers } from './chat-handlers.ts';

/** Handlers of a component, which may change from render to render. */
export interface LatestHandlers {
  readonly current: ChatHandlers;
}

/** Components that show a chat. */
export class ChatComponents {
  readonly #handlers: Set<LatestHandlers> = new Set();
  /** Ids of the tool calls that the components know. A replay repeats them. */
  readonly #knownCallIds: Set<string> = new Set();
  readonly #onFailure: (error: Error) => void;

  /** `onFailure`: called when a handler fails. */
  constructor(onFailure: (error: Error) => void) {
    this.#onFailure = onFailure;
  }

  get count(): number {
    return this.#handlers.size;
  }

  add(handlers: LatestHandlers): void {
    this.#handlers.add(handlers);
  }

  remove(handlers: LatestHandlers): void {
    this.#handlers.delete(handlers);
  }

  /** Calls a handler of each component. */
  tell(act: (handlers: ChatHandlers) => unknown): void {
    for (const { current } of this.#handlers) {
      const acting = (async () => act(current))();
      acting.catch((error: unknown) => this.#onFailure(error as Error));
    }
  }

  /** Tells about a tool call once. */
  tellCall(toolCall: CalledTool): void {
    if (this.#knownCallIds.has(toolCall.toolCallId)) return;
    this.#knownCallIds.add(toolCall.toolCallId);
    this.tell(({ onToolCall }) => onToolCall?.({ toolCall }));
  }

  /** Returns whether a component says to send the messages again. */
  async wantSent(messages: readonly UIMessage[]): Promise<boolean> {
    const answers = [...this.#handlers].map(async ({ current }) =>
      current.sendAutomaticallyWhen?.({ messages: [...messages] }),
    );
    try {
      return (await Promise.all(answers)).includes(true);
    } catch (error) {
      this.#onFailure(error as Error);
      return false;
    }
  }
}
