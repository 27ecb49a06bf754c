import type { AgentResult, EventBatch } from '@isoloop/core';
import { latestMessages, typedMessages, type UIMessage, type UiChunk } from '@isoloop/core/stream';
import { checkOptions } from '@isoloop/core/options';
import type {
  AgentLink,
  AnswerBatches,
  LinkedAgent,
  ObjectRun,
  StoredSessions,
} from '@isoloop/core/host';
import { storedIdOf, watchDeletions } from '../store/deletions.ts';
import type { ExposedAgent, OptionsOf } from '../wire/exposed-agent.ts';
import type { ConnectOptions } from './connect-agent.ts';
import { LatestRun } from './latest-run.ts';
import { sessionClient, type SessionClient } from './session-client.ts';
import { connectTable, linkWorker } from './worker-link.ts';

/** How the hooks of a page connect to the agent of a worker. */
export type AgentWorkerOptions = Omit<ConnectOptions, 'sessionId'>;

/** `AgentWorkerOptions` with the types of the worker's agents. */
export type AgentWorkerOptionsFor<E extends ExposedAgent> = Omit<
  AgentWorkerOptions,
  'agent' | 'options'
> &
  OptionsOf<E>;

/** The options, which may be left out if none of them is required. */
type OptionalArgument<O> = object extends O ? [options?: O] : [options: O];

/**
 * Describes the agent of a worker for `useAgentChat()` and `useAgentObject()`. Create the worker
 * outside of the component. The options may change from render to render. Without a worker, as on a
 * server, the hooks show an empty chat. Throws `CONFIGURATION` for an unknown option.
 *
 * Pass the type of the exposed agents, as in `agentWorker<typeof assistant>`. TypeScript then
 * checks the agent's name and its options, and the messages have the types of its tools.
 *
 * @example
 * const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
 * const assistant = agentWorker<Assistant>(worker);
 * const { messages, sendMessage } = useAgentChat(assistant, { sessionId: 'notes' });
 */
export function agentWorker<E extends ExposedAgent = ExposedAgent>(
  worker: Worker | SharedWorker | undefined,
  ...[options]: OptionalArgument<AgentWorkerOptionsFor<E>>
): LinkedAgent<ExposedAgent extends E ? unknown : E> {
  const givenOptions: AgentWorkerOptions = { ...options };
  const { agent, options: agentOptions } = givenOptions;
  checkOptions('agentWorker()', givenOptions, agentWorkerTable);
  const connect = (sessionId: string): SessionClient =>
    sessionClient(linkWorker(worker as Worker, { ...givenOptions, sessionId }));
  return {
    place: worker,
    name: agent,
    options: agentOptions,
    link: (sessionId) => linkChat(connect(sessionId), agent, sessionId),
    run: (request) => runOnce(connect(request.sessionId), request),
  };
}

const { sessionId: _sessionId, ...agentWorkerTable } = connectTable;

/** Links a chat to the agent. */
function linkChat(
  client: SessionClient,
  agentName: string | undefined,
  sessionId: string,
): AgentLink {
  let stored: StoredSessions | undefined;
  let unwatch: (() => void) | undefined;
  const format = { events: true, typed: true } as const;
  return {
    async send({ trigger, messages, messageId }, signal) {
      const sentMessages = latestMessages(messages, messageId);
      return client.begin('chat', { trigger, messages: sentMessages, messageId, ...format }, signal)
        .batches;
    },
    async reconnect(signal) {
      const request = { trigger: 'resume-stream', messages: [], ...format } as const;
      const { batches } = client.begin('chat', request, signal);
      const { done, value } = await batches.next();
      return done ? undefined : withFirst(value, batches);
    },
    outlivesPage: false,
    // The worker's conversations are in this browser, too, and its tabs share them.
    queuePlace: { storage: 'localStorage', key: JSON.stringify([agentName ?? null, sessionId]) },
    // Loaded at its first use, because most pages show only one conversation.
    async sessions() {
      const { databaseSessions } = await import('./database-sessions.ts');
      // A store keeps a connection to the database open, so the link creates only one.
      return (stored ??= databaseSessions(agentName));
    },
    history: async () => typedMessages(await client.ask<UIMessage[]>('uiMessages')),
    watch(listener, onDeleted) {
      void watchRuns(client, listener);
      unwatch = watchDeletions(storedIdOf(agentName, sessionId), onDeleted);
    },
    stop: async () => false,
    close() {
      unwatch?.();
      client.close();
    },
  };
}

/** Returns the batches with the one that was read already. */
async function* withFirst(
  firstBatch: readonly UiChunk[],
  batches: AsyncIterable<readonly UiChunk[]>,
): AnswerBatches {
  yield firstBatch;
  yield* batches;
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

/** Runs the agent over a connection of its own. */
async function* runOnce(
  client: SessionClient,
  { output, input, signal, isTemporary }: ObjectRun,
): AsyncGenerator<EventBatch, AgentResult> {
  try {
    const request = { input, options: output === undefined ? {} : { output } };
    return yield* client.begin('stream', request, signal).batches;
  } finally {
    const clear = isTemporary ? client.ask<void>('clear') : Promise.resolve();
    void clear.catch(() => {}).finally(() => client.close());
  }
}
