import { latestMessages, type UiChunk } from '@isoloop/core/stream';
import type { RemoteRun, SessionClient } from './session-client.ts';

/** Whether a chat gets the events of the run beside the answer. */
export interface WorkerChatTransportOptions {
  /**
   * Whether the stream also has the agent's events, without prompts, as transient
   * `data-isoloop-event` parts. Read these parts with `useChat({ onData })`. Default: false.
   */
  readonly events?: boolean;
}

/** Fields of AI SDK's `UIMessage` that the page reads. The worker checks all fields. */
interface TransportMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly object[];
}

/**
 * `ChatTransport` of AI SDK 7 for an agent in a worker. It sends only the last message and the
 * decisions before it, because the worker has the history.
 *
 * If the session already has a sent user message, the new text replaces the old one, and later
 * messages are deleted. Regenerating deletes the answer and all later messages, and answers the
 * user message again. An assistant message decides about tool calls that wait for approval or a
 * result. A new message rejects tool calls that wait for approval.
 *
 * A failed stream errors with an `AgentError`, so `error` of `useChat` has its `code`. Reconnecting
 * replays the current turn from its start. If a turn was interrupted, for example by a reload,
 * reconnecting continues that turn from the stored log.
 */
export interface WorkerChatTransport {
  readonly resumeStreamIsReplay: true;
  sendMessages(options: {
    readonly trigger: 'submit-message' | 'regenerate-message';
    readonly messages: readonly TransportMessage[];
    readonly messageId?: string | undefined;
    readonly abortSignal: AbortSignal | undefined;
  }): Promise<ReadableStream<UiChunk>>;
  reconnectToStream(options?: {
    readonly abortSignal?: AbortSignal | undefined;
  }): Promise<ReadableStream<UiChunk> | null>;
}

export function workerChatTransport(
  begin: SessionClient['begin'],
  { events = false }: WorkerChatTransportOptions = {},
): WorkerChatTransport {
  // `typedTransport()` gives tool parts their types.
  const typed = false;
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ trigger, messages, messageId, abortSignal }) {
      // Vue and Svelte wrap messages in proxies, which cannot be posted.
      const plainMessages = JSON.parse(JSON.stringify(latestMessages(messages))) as typeof messages;
      return chunkStream(
        begin('chat', { trigger, messages: plainMessages, messageId, events, typed }, abortSignal),
      );
    },
    async reconnectToStream({ abortSignal } = {}) {
      const request = { trigger: 'resume-stream', messages: [], events, typed } as const;
      const run = begin('chat', request, abortSignal);
      const firstRead = await run.batches.next();
      return firstRead.done ? null : chunkStream(run, firstRead);
    },
  };
}

/** Returns the chunks of a run. `firstRead`: what was read already. */
function chunkStream(
  { batches, abort }: RemoteRun<UiChunk>,
  firstRead?: IteratorResult<readonly UiChunk[], unknown>,
): ReadableStream<UiChunk> {
  let nextRead = firstRead;
  return new ReadableStream<UiChunk>(
    {
      async pull(controller) {
        const { done, value } = await (nextRead ?? batches.next());
        nextRead = undefined;
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
