import { toTypedChunk, latestMessages, typedMessages, type UiChunk } from '@isoloop/core/stream';
import { LatestRun } from '../../page/latest-run.ts';
import { sessionClient, type SessionClient } from '../../page/session-client.ts';
import { linkWorker } from '../../page/worker-link.ts';
import { storedIdOf, watchDeletions } from '../../store/deletions.ts';
import type { ChatRequest } from '../../wire/protocol.ts';
import { heldPlace } from '../queue/held-place.ts';
import type { AgentLink, LinkOptions } from './agent-source.ts';
import type { AnswerBatches } from '../chat/chat.ts';
import type { UIMessage } from '../chat/ui-message.ts';
import type { UIMessageChunk } from '../chat/ui-message-chunk.ts';
import type { StoredSessions } from './agent-sessions.ts';

/** Links a chat to the agent in a worker. Throws `CONFIGURATION` without a worker. */
export function linkWorkerAgent(
  worker: Worker | SharedWorker | undefined,
  options: LinkOptions,
): AgentLink {
  const client = sessionClient(linkWorker(worker as Worker, options));
  let stored: StoredSessions | undefined;
  let unwatch: (() => void) | undefined;
  const ask = (
    request: Pick<ChatRequest, 'trigger' | 'messages' | 'messageId'>,
    signal: AbortSignal,
  ): AsyncGenerator<readonly UiChunk[], unknown> =>
    client.begin<'chat', UiChunk>('chat', { ...request, events: true }, signal).batches;
  return {
    send: async ({ trigger, messages, messageId }, signal) =>
      typedBatches(
        ask({ trigger, messages: latestMessages(messages, messageId), messageId }, signal),
      ),
    async reconnect(signal) {
      const batches = ask({ trigger: 'resume-stream', messages: [] }, signal);
      const { done, value } = await batches.next();
      return done ? undefined : typedBatches(batches, value);
    },
    outlivesPage: false,
    // The worker's conversations are in this browser, too, and its tabs share them.
    heldPlace: heldPlace(
      'localStorage',
      JSON.stringify([options.agent ?? null, options.sessionId]),
    ),
    // Loaded at its first use, because most pages show only one conversation.
    async sessions() {
      const { databaseSessions } = await import('./database-sessions.ts');
      // A store keeps a connection to the database open, so the link creates only one.
      return (stored ??= databaseSessions(options.agent));
    },
    history: async () => typedMessages(await client.ask('uiMessages')) as readonly UIMessage[],
    watch(listener, onDeleted) {
      void watchRuns(client, listener);
      unwatch = watchDeletions(storedIdOf(options.agent, options.sessionId), onDeleted);
    },
    stop: async () => false,
    close() {
      unwatch?.();
      client.close();
    },
  };
}

/** Gives tool parts their types. `first`: a batch that was read already. */
async function* typedBatches(
  batches: AsyncIterable<readonly UiChunk[]>,
  first: readonly UiChunk[] = [],
): AnswerBatches {
  yield first.map(toTypedChunk) as readonly UIMessageChunk[];
  for await (const batch of batches) yield batch.map(toTypedChunk) as readonly UIMessageChunk[];
}

/**
 * Calls `listener` once per run, as soon as the log has its question. That is at the first model
 * request, or at the end of a run that makes none. Ends with the connection.
 */
async function watchRuns(client: SessionClient, listener: (runId: string) => void): Promise<void> {
  const run = new LatestRun();
  let lastRunId = '';
  try {
    for await (const batch of client.begin('watch', {}).batches) {
      for (const event of batch) {
        if (!run.add(event) || run.id === lastRunId) continue;
        lastRunId = run.id;
        listener(lastRunId);
      }
    }
  } catch {
    // The connection has ended. The next message reports it.
  }
}
