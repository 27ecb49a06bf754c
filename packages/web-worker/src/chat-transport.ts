import type { UiChunk } from '@isoloop/core/ai-sdk';
import type { ChatRequest } from './protocol.ts';
import type { RemoteRun } from './remote-run.ts';

export interface WorkerChatTransportOptions {
  /** Adds the agent's events, without prompts, as transient `data-isoloop-event` parts: `useChat({ onData })`. Default false. */
  readonly events?: boolean;
}

/** The part of AI SDK's `UIMessage` that is read here; the worker checks it. */
interface SentMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly object[];
}

/**
 * AI SDK 7's `ChatTransport` over an agent in a worker. Only the last message crosses: the history is the worker's. Sending a message
 * the session already has replaces it and forgets what came after; regenerating answers it anew. Failures error the stream with their
 * `AgentError`, so `useChat`'s `error` has its code. There is nothing to reconnect to: a run ends with its tab.
 */
export interface WorkerChatTransport {
  sendMessages(options: {
    readonly trigger: 'submit-message' | 'regenerate-message';
    readonly messages: readonly SentMessage[];
    readonly abortSignal: AbortSignal | undefined;
  }): Promise<ReadableStream<UiChunk>>;
  reconnectToStream(): Promise<null>;
}

type OpenChat = (request: Omit<ChatRequest, 'id' | 'aborted'>, signal: AbortSignal | undefined) => RemoteRun<UiChunk>;

export function workerChatTransport({ events = false }: WorkerChatTransportOptions = {}, open: OpenChat): WorkerChatTransport {
  return {
    async sendMessages({ trigger, messages, abortSignal }) {
      return chunkStream(open({ trigger, message: messages.at(-1), events }, abortSignal));
    },
    async reconnectToStream() {
      return null;
    },
  };
}

function chunkStream({ batches, abort }: RemoteRun<UiChunk>): ReadableStream<UiChunk> {
  return new ReadableStream<UiChunk>(
    {
      async pull(controller) {
        const { done, value } = await batches.next();
        if (done) controller.close();
        else for (const chunk of value) controller.enqueue(chunk);
      },
      async cancel() {
        abort();
        while (!(await batches.next()).done);
      },
    },
    { highWaterMark: 0 },
  );
}
