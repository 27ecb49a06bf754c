import type { UiChunk } from '@isoloop/core/ai-sdk';
import type { ChatRequest } from '../wire/protocol.ts';
import type { RemoteRun } from './remote-run.ts';

export interface WorkerChatTransportOptions {
  /**
   * Adds the agent's events, without prompts, as transient `data-isoloop-event` parts. Read them
   * with `useChat({ onData })`. Default false.
   */
  readonly events?: boolean;
}

/** The fields of AI SDK's `UIMessage` that the page reads; the worker checks them. */
interface SentMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly object[];
}

/**
 * AI SDK 7's `ChatTransport` for an agent in a worker. It sends only the last message: the worker
 * has the history. Sending a message that the session already has replaces it and deletes later
 * messages. Regenerating answers it again. An assistant's message answers the calls that wait for
 * approval or a result. A new message rejects the calls that wait for approval. A failed stream errors with its `AgentError`, so `useChat`'s `error` has
 * its code. Reconnecting replays the current turn from its start. If a turn was interrupted, for
 * example by a reload, reconnecting continues it from the log.
 */
export interface WorkerChatTransport {
  readonly resumeStreamIsReplay: true;
  sendMessages(options: {
    readonly trigger: 'submit-message' | 'regenerate-message';
    readonly messages: readonly SentMessage[];
    readonly messageId?: string | undefined;
    readonly abortSignal: AbortSignal | undefined;
  }): Promise<ReadableStream<UiChunk>>;
  reconnectToStream(options?: {
    readonly abortSignal?: AbortSignal | undefined;
  }): Promise<ReadableStream<UiChunk> | null>;
}

type OpenChat = (
  request: Omit<ChatRequest, 'id' | 'aborted'>,
  signal: AbortSignal | undefined,
) => RemoteRun<UiChunk>;

export function workerChatTransport(
  { events = false }: WorkerChatTransportOptions = {},
  open: OpenChat,
): WorkerChatTransport {
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ trigger, messages, messageId, abortSignal }) {
      const last = messages.findLastIndex((each) => each?.role === 'assistant' && each.parts[0]);
      return chunkStream(
        open({ trigger, messages: messages.slice(last), messageId, events }, abortSignal),
      );
    },
    async reconnectToStream({ abortSignal } = {}) {
      const run = open({ trigger: 'resume-stream', messages: [], events }, abortSignal);
      const first = await run.batches.next();
      return first.done ? null : chunkStream(run, first);
    },
  };
}

function chunkStream(
  { batches, abort }: RemoteRun<UiChunk>,
  first?: IteratorResult<readonly UiChunk[], unknown>,
): ReadableStream<UiChunk> {
  let read = first;
  return new ReadableStream<UiChunk>(
    {
      async pull(controller) {
        const { done, value } = await (read ?? batches.next());
        read = undefined;
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
