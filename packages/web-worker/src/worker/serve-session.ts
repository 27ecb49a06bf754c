import { AgentError } from '@isoloop/core';
import type { AgentResult, EventBatch, Msg, PendingCall } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import { finalizer } from 'comlink';
import { ChatEncoder } from './chat-encoder.ts';
import type { ShownTurn } from '../wire/shown-turn.ts';
import { packEvents } from '../wire/delta-runs.ts';
import { Outbox } from './outbox.ts';
import { toOutcome } from '../wire/outcome.ts';
import type {
  ChatMessage,
  ChatRequest,
  ConnectMessage,
  Outcome,
  RunRequest,
  SessionApi,
} from '../wire/protocol.ts';
import type { RunReader } from '../session/runs/run-readers.ts';
import type { Session } from '../session/session.ts';
import type { Sessions } from './sessions.ts';

type Later = (task: () => void) => void;

export interface ServeSessionOptions {
  readonly sessions: Sessions;
  readonly connect: ConnectMessage;
  /** One port for each offer of the connection, in the same order. */
  readonly pagePorts: readonly MessagePort[];
  readonly later: Later;
}

export interface Served {
  readonly api: SessionApi;
  /**
   * Ends the connection of a page that disappeared without a message. Other tabs of the session can
   * continue its runs.
   */
  readonly lose: () => void;
}

interface Encoding<T> {
  readonly encode: (events: EventBatch) => readonly T[];
  readonly begin?: (turn: ShownTurn) => void;
}

/**
 * Creates the API that Comlink exposes to one connection. When the page releases the API, the runs
 * of the connection are aborted and the connection leaves the session.
 */
export function serveSession({ sessions, connect, pagePorts, later }: ServeSessionOptions): Served {
  const session = sessions.enter(connect);
  const { pages } = session;
  const page = crypto.randomUUID();
  const asker = { page, ...(pages.lock !== undefined && { lock: pages.lock }) };
  const leavePages = pages.enter(connect.offers, pagePorts, { page });
  const controllers = new Map<number, AbortController>();
  const outboxes = new Set<{ close(): void }>();
  const gone = new AbortController();
  /** Signals of the runs that the page aborted before it received an event of the run. */
  const unread = new WeakSet<AbortSignal>();

  /** Runs a job of this connection. Until the job ends, `abort(id)` aborts its controller. */
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

  /** Runs a job and sends its encoded events over the port of the run. */
  const send = async <T>(
    port: MessagePort,
    { encode, begin = () => {} }: Encoding<T>,
    job: (reader: RunReader) => Promise<AgentResult | undefined>,
  ): Promise<void> => {
    const outbox = new Outbox<T>({ port, encode, later });
    const reader: RunReader = {
      begin,
      add: (events) => outbox.add(events),
      get isReady() {
        return outbox.isReady;
      },
      ready: () => outbox.ready(),
      onFailure: undefined,
    };
    outbox.onFailure = () => reader.onFailure?.();
    outboxes.add(outbox);
    outbox.end((await toOutcome(job(reader))) as Outcome<AgentResult>);
    outboxes.delete(outbox);
  };

  const leaveAll = (isGone: boolean): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    for (const outbox of outboxes) outbox.close();
    if (!isGone) api.abort();
    sessions.leave(connect, isGone);
    leavePages();
  };

  const api: SessionApi & { [finalizer](): void } = {
    call(request, port) {
      const { input, options } = request;
      void send(port, { encode: () => [] }, () =>
        run(request, (controller) =>
          session.run({ type: 'run', input, options, asker }, controller),
        ),
      );
    },
    stream(request, port) {
      const { input, options } = request;
      void send(port, { encode: packEvents }, (reader) =>
        run(request, (controller) =>
          session.run({ type: 'run', input, options, asker }, controller, reader),
        ),
      );
    },
    chat(request, port) {
      const { trigger, events } = request;
      const replays = trigger === 'resume-stream';
      const encoder = new ChatEncoder({ events, replays });
      const encoding = {
        encode: (batch: EventBatch) => encoder.encode(batch),
        begin: (turn: ShownTurn) => encoder.begin(turn),
      };
      void send(port, encoding, (reader) =>
        run(request, (controller) => {
          if (!replays)
            return session.run({ type: 'chat', ...messageOf(request), asker }, controller, reader);
          // A resumed run may have other readers, so a closed connection only leaves the run. An
          // abort before the first event also only leaves it: in React's strict mode, the first
          // mount resumes the run and leaves at once.
          const [own, left] = [new AbortController(), new AbortController()];
          const { signal } = controller;
          const leave = (): void => left.abort();
          const stop = (): void =>
            gone.signal.aborted || request.aborted || unread.has(signal) ? leave() : own.abort();
          gone.signal.addEventListener('abort', leave);
          signal.addEventListener('abort', stop);
          if (signal.aborted) stop();
          return session
            .resume(asker, own, reader, left.signal)
            .finally(() => gone.signal.removeEventListener('abort', leave));
        }),
      );
    },
    watch(request, port) {
      void send(port, { encode: packEvents }, (reader) =>
        run(request, ({ signal }) => watch(session, reader, signal)),
      );
    },
    abort(id, isUnread) {
      for (const [key, controller] of controllers) {
        if (id !== undefined && id !== key) continue;
        if (isUnread) unread.add(controller.signal);
        controller.abort();
      }
    },
    interrupt: (request) => toOutcome(session.ask<boolean>({ type: 'interrupt', request })),
    pending: () => toOutcome(session.ask<readonly PendingCall[]>({ type: 'pending' })),
    messages: () => toOutcome(session.ask<readonly Msg[]>({ type: 'messages' })),
    uiMessages: () => toOutcome(session.ask<readonly UiMessage[]>({ type: 'uiMessages' })),
    clear: () => toOutcome(session.ask<void>({ type: 'clear' })),
    [finalizer]: () => leaveAll(false),
  };
  return { api, lose: () => leaveAll(true) };
}

/**
 * Forwards the events of all runs of the session to a reader until the signal aborts. Runs do not
 * wait for this reader.
 */
function watch(session: Session, reader: RunReader, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = session.watch((events) => reader.add(events));
    const end = (): void => {
      stop();
      reject(new AgentError('ABORTED', 'Watching was ended.'));
    };
    reader.onFailure = end;
    if (signal.aborted) end();
    signal.addEventListener('abort', end);
  });
}

/** Returns the message that the request is about, and the last assistant message. */
function messageOf({ trigger, messages, messageId }: ChatRequest): ChatMessage {
  const [first] = messages as readonly ({ readonly id?: unknown } | undefined)[];
  // If the user decides about tool calls of the assistant message, a user message that was refused
  // may come after it.
  const message = first?.id === messageId ? first : messages.at(-1);
  return { trigger, message, answer: first };
}
