import { AgentError, type AgentResult, type Msg, type PendingCall } from '@isoloop/core';
import type { UIMessage } from '@isoloop/core/stream';
import { readChatTurn, type ChatLimits } from '@isoloop/core/host';
import { finalizer } from 'comlink';
import { ChatEncoder } from './chat-encoder.ts';
import {
  type ConnectMessage,
  type Outcome,
  type RunRequest,
  type SessionApi,
  toOutcome,
} from '../wire/protocol.ts';
import { packEvents } from '../wire/wire-events.ts';
import { EventSender, type Encoding } from './event-sender.ts';
import { onAbort } from '@isoloop/core/wait';
import type { RunReader } from '../session/runs/run-feed.ts';
import type { Session } from '../session/session.ts';
import type { Sessions } from './sessions.ts';

/** A page can only fill the memory of its own browser. */
const noLimits: ChatLimits = { messages: Infinity, toolResultChars: Infinity };

type Schedule = (task: () => void) => void;

interface ServeSessionOptions {
  readonly sessions: Sessions;
  readonly message: ConnectMessage;
  /** One port for each offer of the connection, in the same order. */
  readonly pagePorts: readonly MessagePort[];
  readonly schedule: Schedule;
}

interface ServedSession {
  readonly api: SessionApi;
  /**
   * Ends the connection of a page that disappeared without a message. Other tabs of the session can
   * continue its runs.
   */
  readonly onPageLost: () => void;
}

/**
 * Creates the API that Comlink exposes to one connection. When the page releases the API, the runs
 * of the connection are aborted and the connection leaves the session.
 */
export function serveSession({
  sessions,
  message,
  pagePorts,
  schedule,
}: ServeSessionOptions): ServedSession {
  const session = sessions.connect(message);
  const { pages } = session;
  const pageId = crypto.randomUUID();
  const asker = { pageId, lock: pages.lock };
  const leavePages = pages.add(message.offers, pagePorts, { pageId });
  const runs = new PageRuns(schedule);

  const leave = (isGone: boolean): void => {
    if (runs.connectionSignal.aborted) return;
    runs.leave();
    if (!isGone) runs.abort();
    sessions.leave(message, isGone);
    leavePages();
  };

  const taskOf = ({ input, options }: RunRequest) =>
    ({ type: 'run', input, options, asker }) as const;

  const api: SessionApi & { [finalizer](): void } = {
    call(request, port) {
      runs.begin(request, port, { encode: () => [] }, (controller) =>
        session.run(taskOf(request), controller),
      );
    },
    stream(request, port) {
      runs.begin(request, port, { encode: packEvents }, (controller, reader) =>
        session.run(taskOf(request), controller, reader),
      );
    },
    chat(request, port) {
      const { trigger, events, typed } = request;
      const isReplay = trigger === 'resume-stream';
      const encoder = new ChatEncoder({ events, typed, isReplay });
      runs.begin(request, port, encoder, async (controller, reader) => {
        if (isReplay)
          return runs.join(controller.signal, request.aborted, (runController, leaveSignal) =>
            session.resume(asker, runController, reader, leaveSignal),
          );
        const turn = readChatTurn(request, noLimits);
        return session.run({ type: 'chat', request: turn, asker }, controller, reader);
      });
    },
    watch(request, port) {
      runs.begin(request, port, { encode: packEvents }, ({ signal }, reader) =>
        watch(session, reader, signal),
      );
    },
    abort: (id, isUnread) => runs.abort(id, isUnread),
    interrupt: (request) => toOutcome(session.command<boolean>({ type: 'interrupt', request })),
    pending: () => toOutcome(session.command<readonly PendingCall[]>({ type: 'pending' })),
    messages: () => toOutcome(session.command<readonly Msg[]>({ type: 'messages' })),
    uiMessages: () => toOutcome(session.command<readonly UIMessage[]>({ type: 'uiMessages' })),
    clear: () => toOutcome(session.command<void>({ type: 'clear' })),
    [finalizer]: () => leave(false),
  };
  return { api, onPageLost: () => leave(true) };
}

type Job = (controller: AbortController, reader: RunReader) => Promise<AgentResult | undefined>;

/** The runs that the page of one connection reads. */
class PageRuns {
  readonly #schedule: Schedule;
  readonly #controllers: Map<number, AbortController> = new Map();
  readonly #senders: Set<{ close(): void }> = new Set();
  readonly #connectionController = new AbortController();
  /** Signals of the runs that the page aborted before it received an event of the run. */
  readonly #unreadSignals: WeakSet<AbortSignal> = new WeakSet();

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** Aborts when the connection ends. */
  get connectionSignal(): AbortSignal {
    return this.#connectionController.signal;
  }

  /**
   * Starts a job and sends its encoded events over the port of the run. Until the job ends,
   * `abort(id)` aborts its controller.
   */
  begin<T>(
    { id, aborted }: Pick<RunRequest, 'id' | 'aborted'>,
    port: MessagePort,
    encoding: Encoding<T>,
    job: Job,
  ): void {
    const controller = new AbortController();
    if (aborted) controller.abort();
    this.#controllers.set(id, controller);
    const sender = new EventSender<T>({ port, encoding, schedule: this.#schedule });
    this.#senders.add(sender);
    const jobEnd = job(controller, sender).finally(() => this.#controllers.delete(id));
    void toOutcome(jobEnd).then((outcome) => {
      sender.end(outcome as Outcome<AgentResult>);
      this.#senders.delete(sender);
    });
  }

  /**
   * Reads a run that may have other readers. `signal`: signal of the job. A closed connection only
   * leaves the run. An abort before the first event also only leaves it: in React's strict mode,
   * the first mount resumes the run and leaves at once.
   */
  async join<T>(
    signal: AbortSignal,
    isLeft: boolean,
    job: (controller: AbortController, leaveSignal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const [runController, readController] = [new AbortController(), new AbortController()];
    const leave = (): void => readController.abort();
    const stop = (): void =>
      this.connectionSignal.aborted || isLeft || this.#unreadSignals.has(signal)
        ? leave()
        : runController.abort();
    this.connectionSignal.addEventListener('abort', leave);
    onAbort(signal, stop);
    try {
      return await job(runController, readController.signal);
    } finally {
      this.connectionSignal.removeEventListener('abort', leave);
    }
  }

  /** Aborts a run, or all runs. `isUnread`: no event of the run has arrived yet. */
  abort(id?: number, isUnread = false): void {
    for (const [key, controller] of this.#controllers) {
      if (id !== undefined && id !== key) continue;
      if (isUnread) this.#unreadSignals.add(controller.signal);
      controller.abort();
    }
  }

  /** Sends nothing any more. The runs continue. */
  leave(): void {
    this.#connectionController.abort();
    for (const sender of this.#senders) sender.close();
  }
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
    onAbort(signal, end);
  });
}
