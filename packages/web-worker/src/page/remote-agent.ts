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
 * A run in the worker, with the face and the laws of core's `AgentStream`: it starts at the first
 * read, or with `result`.
 */
export interface RemoteStream<T = unknown> extends AsyncIterable<AgentEvent> {
  /** The batches as they came: one message of the worker each. Never empty. */
  batches(): AsyncIterable<EventBatch>;
  readable(): ReadableStream<EventBatch>;
  /**
   * Aborts the run and waits until its log is in order; does nothing to a detached run, or one that
   * ended.
   */
  cancel(): Promise<void>;
  /** Rejects with the call's `AgentError`. */
  readonly result: Promise<AgentResult<T>>;
}

/** What of a call's options can cross to a worker. */
export interface RemoteCallOptions<N extends string = string> extends Omit<
  CallOptions,
  'context' | 'output'
> {
  /**
   * Has the call end with a typed value: the name of one of the outputs that the worker's
   * `exposeAgent` was given.
   */
  readonly output?: N;
}

/** The names of a worker's outputs. */
type Name<T> = keyof T & string;

/**
 * The page's side of an agent in a worker. Whatever waits for the worker rejects at once with
 * `WORKER_FAILED` or `WORKER_TERMINATED` when the worker is gone or the connection closed; other
 * errors arrive as the `AgentError` they were. `T` has the values of the worker's outputs, by name.
 */
export interface RemoteAgent<T = Readonly<Record<string, unknown>>> {
  readonly sessionId: string;
  /**
   * As `ReActAgent.call`. The signal crosses as a message; the call then resolves with reason
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
   * All runs of the session, whichever tab asked for them, from the start of the one that is under
   * way: events of one run after the other, until the loop is left, `cancel()` or the end of the
   * connection. Their reader does not pace them.
   */
  watch(): Omit<RemoteStream, 'result'>;
  /** Goes on from the log: with tool calls that have no result, or after a pause. */
  resume<N extends Name<T> = never>(options?: RemoteCallOptions<N>): Promise<AgentResult<T[N]>>;
  /** Decides about pending tool calls, and goes on. */
  decide<N extends Name<T> = never>(
    decisions: Decision | readonly Decision[],
    options?: RemoteCallOptions<N>,
  ): Promise<AgentResult<T[N]>>;
  /** The tool calls that wait for somebody, also after a reload. */
  pending(): Promise<readonly PendingCall[]>;
  /** As `ReActAgent.interrupt`; resolves when the agent was told. */
  interrupt(request?: string | Msg | InterruptRequest): Promise<boolean>;
  /**
   * Aborts what runs for this connection, as a signal of its calls would: they resolve with reason
   * `aborted`.
   */
  abort(): void;
  messages(): Promise<readonly Msg[]>;
  /** The conversation for `useChat({ messages })`. */
  uiMessages(): Promise<readonly UiMessage[]>;
  /** Forgets the conversation. Rejects with `AGENT_BUSY` while a call runs. */
  clear(): Promise<void>;
  /** For AI SDK: `useChat({ transport: agent.chatTransport() })`, with no server. */
  chatTransport(options?: WorkerChatTransportOptions): WorkerChatTransport;
  /** Ends the connection and aborts its calls. The worker goes on: it is the page's. */
  close(): void;
  /**
   * Ends the worker itself, and with it all connections to it; of a SharedWorker only the
   * connection.
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

  /** A run that comes on a port of its own. */
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
    close: () => end('The connection to the worker was closed.'),
    terminate() {
      end('The worker was terminated.');
      (worker as Partial<Worker>).terminate?.();
    },
  };
}

/** The rest of them the agent checks. */
function checked(options: RemoteCallOptions = {}): RemoteCallOptions {
  if (Object(options) !== options || (options.signal && !options.signal.addEventListener))
    throw new AgentError('INVALID_INPUT', 'The options of a call, or their signal, are none.');
  return options;
}
