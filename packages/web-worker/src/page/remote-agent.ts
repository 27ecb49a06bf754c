import { AgentError, AgentStream } from '@isoloop/core';
import { RunDriver } from '@isoloop/core/adapter';
import type {
  AgentEvent,
  AgentInput,
  AgentResult,
  CallOptions,
  Decision,
  EventBatch,
  InterruptRequest,
  Msg,
  PendingCall,
} from '@isoloop/core';
import type { UiChunk, UiMessage } from '@isoloop/core/ai-sdk';
import { releaseProxy, transfer, wrap, type Remote } from 'comlink';
import {
  workerChatTransport,
  type WorkerChatTransport,
  type WorkerChatTransportOptions,
} from './chat-transport.ts';
import { fromOutcome } from '../wire/outcome.ts';
import type { Outcome, RunRequest, SessionApi } from '../wire/protocol.ts';
import { remoteRun, type RemoteRun } from './remote-run.ts';
import type { WorkerLink } from './worker-link.ts';

/**
 * A run in the worker, with the interface and rules of core's `AgentStream`. It starts at the first
 * read, or when `result` is read.
 */
export interface RemoteStream<T = unknown> extends AsyncIterable<AgentEvent> {
  /** Yields the batches as they arrive, one per message of the worker. A batch is never empty. */
  batches(): AsyncIterable<EventBatch>;
  readable(): ReadableStream<EventBatch>;
  /**
   * Aborts the run and waits until its log is in order. Does nothing if the run is detached or has
   * ended.
   */
  cancel(): Promise<void>;
  /** Rejects with the call's `AgentError`. */
  readonly result: Promise<AgentResult<T>>;
}

/** The options of a call that can cross to a worker. */
export interface RemoteCallOptions<N extends string = string> extends Omit<
  CallOptions,
  'context' | 'output'
> {
  /**
   * Ends the call with a typed value: the name of one of the `outputs` given to the worker's
   * `exposeAgent`.
   */
  readonly output?: N;
}

/** The names of a worker's outputs. */
type Name<T> = keyof T & string;

/**
 * The page's side of an agent in a worker. When the worker is gone or the connection closed,
 * pending calls reject at once with `WORKER_FAILED` or `WORKER_TERMINATED`. Other errors arrive as
 * the `AgentError` they were. `T` maps the names of the worker's outputs to their values.
 */
export interface RemoteAgent<T = Readonly<Record<string, unknown>>> {
  readonly sessionId: string;
  /**
   * Works as `ReActAgent.call`. The signal crosses as a message; the call then resolves with reason
   * `aborted`.
   */
  call<N extends Name<T> = never>(
    input?: AgentInput,
    options?: RemoteCallOptions<N>,
  ): Promise<AgentResult<T[N]>>;
  stream<N extends Name<T> = never>(
    input?: AgentInput,
    options?: RemoteCallOptions<N>,
  ): RemoteStream<T[N]>;
  /**
   * Streams all runs of the session, whichever tab started them, one after the other. It begins at
   * the start of the current run. It ends when you leave the loop or call `cancel()`, or when the
   * connection ends. A slow watcher does not slow down the runs.
   */
  watch(): Omit<RemoteStream, 'result'>;
  /** Continues from the log: with tool calls that have no result, or after a pause. */
  resume<N extends Name<T> = never>(options?: RemoteCallOptions<N>): Promise<AgentResult<T[N]>>;
  /** Decides about pending tool calls and continues the run. */
  decide<N extends Name<T> = never>(
    decisions: Decision | readonly Decision[],
    options?: RemoteCallOptions<N>,
  ): Promise<AgentResult<T[N]>>;
  /** Returns the tool calls that wait for an answer, also after a reload. */
  pending(): Promise<readonly PendingCall[]>;
  /** Works as `ReActAgent.interrupt`. Resolves when the agent has received the request. */
  interrupt(request?: string | Msg | InterruptRequest): Promise<boolean>;
  /**
   * Aborts all runs of this connection, as their signals would. Their calls resolve with reason
   * `aborted`.
   */
  abort(): void;
  messages(): Promise<readonly Msg[]>;
  /** Returns the conversation for `useChat({ messages })`. */
  uiMessages(): Promise<readonly UiMessage[]>;
  /** Deletes the conversation. Rejects with `AGENT_BUSY` while a call runs. */
  clear(): Promise<void>;
  /**
   * Returns a transport for AI SDK: `useChat({ transport: agent.chatTransport() })`, with no
   * server.
   */
  chatTransport(options?: WorkerChatTransportOptions): WorkerChatTransport;
  /**
   * Closes the connection and aborts its calls. The worker keeps running: it belongs to the page.
   */
  close(): void;
  /**
   * Terminates the worker and all connections to it. A SharedWorker keeps running: only the
   * connection ends.
   */
  terminate(): void;
}

export interface RemoteAgentSetup extends WorkerLink {
  readonly sessionId: string;
  readonly worker: Worker | SharedWorker;
}

export function createRemoteAgent({
  sessionId,
  worker,
  port,
  connection,
}: RemoteAgentSetup): RemoteAgent {
  const remote: Remote<SessionApi> = wrap<SessionApi>(port);
  let lastId = 0;

  const ask = async <T>(call: () => Promise<Outcome<T>>): Promise<T> =>
    fromOutcome(await connection.guard(call));
  const abort = (id?: number, unread?: boolean): void => {
    if (!connection.error) remote.abort(id, unread).catch(() => {});
  };

  /** Starts a run that arrives on its own port. */
  const begin = <T>(
    signal: AbortSignal | undefined,
    request: (about: Pick<RunRequest, 'id' | 'aborted'>, runPort: MessagePort) => Promise<void>,
  ): RemoteRun<T> => {
    const id = ++lastId;
    const open = (aborted: boolean, runPort: MessagePort): Promise<void> =>
      request({ id, aborted }, transfer(runPort, [runPort]));
    return remoteRun({ connection, signal, open, abort: (unread) => abort(id, unread) });
  };

  const call = async (
    input?: AgentInput,
    given?: RemoteCallOptions,
  ): Promise<AgentResult<never>> => {
    const { signal, detached: _detached, ...options } = checked(given);
    const { batches } = begin(signal, (about, runPort) =>
      remote.call({ ...about, input, options }, runPort),
    );
    return (await batches.next()).value as AgentResult<never>;
  };

  const stream = (input?: AgentInput, given?: RemoteCallOptions): RemoteStream<never> => {
    const { signal, detached, ...options } = checked(given);
    return streamOf(
      begin(signal, (about, runPort) => remote.stream({ ...about, input, options }, runPort)),
      detached,
    );
  };

  const streamOf = (
    { batches: events, abort: stop }: RemoteRun<AgentEvent>,
    detached = false,
  ): RemoteStream<never> =>
    new AgentStream(
      new RunDriver({ runId: String(lastId), events, abort: stop, detached }),
    ) as RemoteStream as RemoteStream<never>;

  const end = (reason: string): void => {
    if (!connection.error) remote[releaseProxy]();
    connection.cut(new AgentError('WORKER_TERMINATED', reason));
  };

  return {
    sessionId,
    call,
    stream,
    watch: () => streamOf(begin(undefined, (about, runPort) => remote.watch(about, runPort))),
    resume: (options) => call(undefined, options),
    decide: (decisions, options) => call([decisions].flat(), options),
    pending: () => ask(() => remote.pending()),
    abort: () => abort(),
    interrupt: (request) => ask(() => remote.interrupt(request)),
    messages: () => ask(() => remote.messages()),
    uiMessages: () => ask(() => remote.uiMessages()),
    clear: () => ask(() => remote.clear()),
    chatTransport: (options) =>
      workerChatTransport(options, (asked, signal) =>
        begin<UiChunk>(signal, (about, runPort) => remote.chat({ ...asked, ...about }, runPort)),
      ),
    close: () => end('The connection was closed.'),
    terminate() {
      end('The worker was terminated.');
      (worker as Partial<Worker>).terminate?.();
    },
  };
}

/**
 * Checks that the options are an object and the signal an AbortSignal. The agent checks the rest.
 */
function checked(options: RemoteCallOptions = {}): RemoteCallOptions {
  if (Object(options) !== options || (options.signal && !options.signal.addEventListener))
    throw new AgentError('INVALID_INPUT', '`options` or its signal is invalid.');
  return options;
}
