import type { AgentResult, AgentStream, EventBatch, ReActAgent } from '@isoloop/core';
import { createUiMessageEncoder, toUiMessages, type UiChunk } from '@isoloop/core/ai-sdk';
import { finalizer } from 'comlink';
import { takeChatMessage } from './chat-turn.ts';
import { packEvents } from './delta-runs.ts';
import { Outbox } from './outbox.ts';
import { toOutcome } from './outcome.ts';
import type { PageMessage, RunRequest, SessionApi } from './protocol.ts';
import type { Sessions } from './sessions.ts';

type Connect = Extract<PageMessage, { readonly type: 'connect' }>;
type Encode<T> = (events: EventBatch) => readonly T[];
type Later = (task: () => void) => void;

/** What Comlink exposes to one connection; when the page releases it, its runs are aborted and the session is left. */
export function serveSession(sessions: Sessions, { sessionId, options }: Connect, later: Later): SessionApi {
  const session = sessions.enter(sessionId, options);
  const controllers = new Map<number, AbortController>();
  const outboxes = new Set<{ close(): void }>();

  /** A run of this connection: `abort(id)` reaches it as long as `job` lasts. */
  const run = async <T>(
    { id, aborted }: Pick<RunRequest, 'id' | 'aborted'>,
    job: (controller: AbortController) => Promise<T>,
  ): Promise<T> => {
    const controller = new AbortController();
    if (aborted) controller.abort();
    controllers.set(id, controller);
    try {
      return await job(controller);
    } finally {
      controllers.delete(id);
    }
  };

  /** A run whose events go out on a port of its own, encoded. */
  const send = async <T>(port: MessagePort, encode: Encode<T>, job: (outbox: Outbox<T>) => Promise<AgentResult>): Promise<void> => {
    const outbox = new Outbox<T>({ port, encode, later });
    outboxes.add(outbox);
    outbox.end(await toOutcome(job(outbox)));
    outboxes.delete(outbox);
  };

  const withAgent = <T>(job: (agent: ReActAgent) => Promise<T>): Promise<T> => session.agent().then(job);

  const api: SessionApi & { [finalizer](): void } = {
    call(request) {
      const { input, options: given } = request;
      return toOutcome(
        run(request, (controller) => session.run(controller, (agent) => agent.call(input, { ...given, signal: controller.signal }))),
      );
    },
    stream(request, port) {
      const { input, options: given } = request;
      void send(port, packEvents, (outbox) =>
        run(request, (controller) =>
          session.run(controller, (agent) => forward(agent.stream(input, { ...given, signal: controller.signal }), outbox)),
        ),
      );
    },
    chat(request, port) {
      void send(port, toUiChunks(request.events), (outbox) =>
        run(request, (controller) =>
          session.editAndRun(
            controller,
            (memory) => takeChatMessage(memory, request),
            (agent, input) => forward(agent.stream(input, { signal: controller.signal }), outbox),
          ),
        ),
      );
    },
    abort: (id) => controllers.get(id)?.abort(),
    interrupt: (request) => toOutcome(withAgent(async (agent) => agent.interrupt(request))),
    messages: () => toOutcome(withAgent((agent) => agent.messages())),
    uiMessages: () => toOutcome(withAgent(async (agent) => toUiMessages(await agent.messages()))),
    clear: () => toOutcome(session.edit((memory) => memory.clear())),
    [finalizer]() {
      for (const outbox of outboxes) outbox.close();
      for (const controller of controllers.values()) controller.abort();
      sessions.leave(sessionId);
    },
  };
  return api;
}

/** Pulls the run as far as the page's credits go. */
async function forward<T>(stream: AgentStream, outbox: Outbox<T>): Promise<AgentResult> {
  const batches = stream.batches()[Symbol.asyncIterator]();
  outbox.onFailure = () => void stream.cancel();
  try {
    for (let read = await batches.next(); !read.done; read = await batches.next()) {
      outbox.add(read.value);
      await outbox.ready();
    }
  } catch (error) {
    await stream.cancel();
    throw error;
  }
  return stream.result;
}

/** Without the `error` chunk: the failure itself ends the stream, with its code. */
function toUiChunks(events: boolean): Encode<UiChunk> {
  const { encode } = createUiMessageEncoder({ events });
  return (batch) => encode(batch).filter((chunk) => chunk.type !== 'error');
}
