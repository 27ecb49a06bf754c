import type { AgentResult, AgentStream, EventBatch, ReActAgent } from '@isoloop/core';
import { finalizer } from 'comlink';
import { callOptions } from './call-options.ts';
import { ChatEncoder } from './chat-encoder.ts';
import { continuedTurn, takeChatMessage, type ChatTurn } from './chat-turn.ts';
import { packEvents } from './delta-runs.ts';
import type { Outputs } from './exposed-agent.ts';
import { LiveTurn } from './live-turn.ts';
import { Outbox } from './outbox.ts';
import { toOutcome } from './outcome.ts';
import { pendingCalls, uiMessages, viewOf } from './pending-calls.ts';
import type { ChatRequest, ConnectMessage, RunRequest, SessionApi } from './protocol.ts';
import type { Sessions } from './sessions.ts';

type Encode<T> = (events: EventBatch) => readonly T[];
type Later = (task: () => void) => void;

export interface ServeSessionOptions {
  readonly sessions: Sessions;
  readonly connect: ConnectMessage;
  /** One for each of its offers. */
  readonly pagePorts: readonly MessagePort[];
  /** The worker's, by name. */
  readonly outputs: Outputs;
  readonly later: Later;
}

/** What Comlink exposes to one connection; when the page releases it, its runs are aborted and the session is left. */
export function serveSession({ sessions, connect, pagePorts, outputs, later }: ServeSessionOptions): SessionApi {
  const session = sessions.enter(connect);
  const leavePages = session.pages.enter(connect.offers, pagePorts);
  const controllers = new Map<number, AbortController>();
  const outboxes = new Set<{ close(): void }>();
  /** Runs that are aborted before anything of them has come. */
  const unread = new WeakSet<AbortSignal>();
  let left = false;

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

  /** A turn that later readers can join, as long as it runs; its first reader is one of them. */
  const begin = (request: ChatRequest): LiveTurn => {
    const live: LiveTurn = new LiveTurn(async (controller, give) => {
      const go = (agent: ReActAgent, turn: ChatTurn): Promise<AgentResult> => {
        session.turn = live;
        return give(turn, () => agent.stream(turn.input, { signal: controller.signal }));
      };
      try {
        if (request.trigger !== 'resume-stream') {
          return await session.editAndRun(controller, (agent) => takeChatMessage(agent.memory, request, () => pendingCalls(agent)), go);
        }
        return await session.runAlone(controller, async (agent) => {
          const turn = await cutOffTurn(agent);
          return turn && go(agent, turn);
        });
      } finally {
        if (session.turn === live) session.turn = undefined;
      }
    });
    return live;
  };

  /** Set at once where it is to be resumed: a page may ask twice. */
  const turnOf = (request: ChatRequest): LiveTurn => {
    if (request.trigger === 'resume-stream') return (session.turn ??= begin(request));
    endUnread();
    return begin(request);
  };

  /** A turn whose readers have all left gives way to what is asked next, instead of refusing it. */
  const endUnread = (): void => {
    if (session.turn?.isLeft) session.turn.abort();
  };

  const withAgent = <T>(job: (agent: ReActAgent) => Promise<T>): Promise<T> => session.agent().then(job);

  const api: SessionApi & { [finalizer](): void } = {
    call(request, port) {
      const { input, options: given } = request;
      endUnread();
      void send(
        port,
        () => [],
        () =>
          run(request, (controller) =>
            session.run(controller, async (agent) => agent.call(input, callOptions(given, controller, outputs))),
          ),
      );
    },
    stream(request, port) {
      const { input, options: given } = request;
      endUnread();
      void send(port, packEvents, (outbox) =>
        run(request, (controller) =>
          session.run(controller, async (agent) => forward(agent.stream(input, callOptions(given, controller, outputs)), outbox)),
        ),
      );
    },
    chat(request, port) {
      const encoder = new ChatEncoder(request.events);
      void send(
        port,
        (batch) => encoder.encode(batch),
        (outbox) =>
          run(request, ({ signal }) => {
            const turn = turnOf(request);
            // A connection that is closed leaves a turn that others read; of its own it is the end. React mounts twice in its strict
            // mode: the first view resumes the turn and leaves at once.
            const isOwn = request.trigger !== 'resume-stream';
            return turn.read(
              outbox,
              (shown) => encoder.begin(shown),
              signal,
              () => isOwn || !(left || request.aborted || unread.has(signal)),
            );
          }),
      );
    },
    abort(id, isUnread) {
      for (const [key, controller] of controllers) {
        if (id !== undefined && id !== key) continue;
        if (isUnread) unread.add(controller.signal);
        controller.abort();
      }
    },
    interrupt: (request) => toOutcome(withAgent(async (agent) => agent.interrupt(request))),
    pending: () => toOutcome(withAgent(pendingCalls)),
    messages: () => toOutcome(withAgent((agent) => agent.messages())),
    uiMessages: () => toOutcome(withAgent(uiMessages)),
    clear: () => toOutcome(session.edit((memory) => memory.clear())),
    [finalizer]() {
      left = true;
      for (const outbox of outboxes) outbox.close();
      api.abort();
      leavePages();
      sessions.leave(connect);
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

/** What a run left behind that was cut off, as by a reload; `undefined`: nothing. */
async function cutOffTurn(agent: ReActAgent): Promise<ChatTurn | undefined> {
  const view = await viewOf(agent.memory);
  if (!view || view.openRun === undefined || view.ended !== undefined) return undefined;
  return continuedTurn(await uiMessages(agent));
}
