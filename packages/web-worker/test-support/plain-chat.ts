import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatTransport,
  type UIMessage,
} from 'ai';
import type { RemoteAgent } from '@isoloop/web-worker';

/** AI SDK's chat without React. */
export class PlainChat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    super({ ...init, state: new PlainState(init.messages) });
  }
}

class PlainState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[] = []) {
    this.messages = messages;
  }

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };

  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, message);
  };

  snapshot = <T>(value: T): T => structuredClone(value);
}

export function chatOver(agent: RemoteAgent, init: ChatInit<UIMessage> = {}): PlainChat {
  const transport: ChatTransport<UIMessage> = agent.chatTransport();
  return new PlainChat({ transport, ...init });
}
