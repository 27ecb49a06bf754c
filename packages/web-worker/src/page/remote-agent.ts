import {
  AgentError,
  AgentStream,
  type AgentEvent,
  type AgentInput,
  type AgentResult,
  type CallOptions,
  type Decision,
  type EventBatch,
  type InterruptRequest,
  type Msg,
  type PendingCall,
} from '@isoloop/core';
import { RunDriver } from '@isoloop/core/host';
import type { UIMessage } from '@isoloop/core/stream';
import {
  workerChatTransport,
  type WorkerChatTransport,
  type WorkerChatTransportOptions,
} from './chat-transport.ts';
import type { ConnectOptions } from './connect-agent.ts';
import { sessionClient, type RemoteRun } from './session-client.ts';
import type { WorkerLink } from './worker-link.ts';

/**
 * Stream of a run in the worker, with the interface and rules of `AgentStream` in `@isoloop/core`.
 * The run starts at the first read of events or of `result`.
 */
export interface RemoteStream<T = unknown> extends AsyncIterable<AgentEvent> {
  /** Yields the events in batches, one batch per message of the worker. A batch is never empty. */
  batches(): AsyncIterable<EventBatch>;
  readable(): ReadableStream<EventBatch>;
  /**
   * Aborts the run and waits until its log is complete. Does nothing if the run is detached or has
   * ended.
   */
  cancel(): Promise<void>;
  /** Result of the run. Rejects with an `AgentError` if the run fails. */
  readonly result: Promise<AgentResult<T>>;
}

/** Options of an agent call that can be sent to a worker. */
export interface RemoteCallOptions<N extends string = string> extends Omit<
  CallOptions,
  'context' | 'output'
> {
  /**
   * Name of one of the `outputs` of `exposeAgent` in the worker. The agent call then returns a
   * typed value. Default: none.
   */
  readonly output?: N;
}

/** Names of a worker's outputs. */
type Name<T> = keyof T & string;

/**
 * Client on the page for an agent in a worker. When the worker ends or the connection is closed,
 * pending agent calls reject at once with `WORKER_FAILED` or `WORKER_TERMINATED`. An error of the
 * agent arrives as an `AgentError` with the same code. `T` maps the names of the worker's outputs
 * to the types of their values.
 */
export interface RemoteAgent<T = Readonly<Record<string, unknown>>> {
  readonly sessionId: string;
  /** Name of the agent, if its worker exposes several. */
  readonly agentName?: string | undefined;
  /**
   * Does the same as `ReActAgent.call`. If the signal aborts, the agent call resolves with reason
   * `aborted`. If nobody waits for the result, a failure is not an unhandled rejection. The same
   * holds for the other methods.
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
   * Streams the events of all runs of the session one after the other, including runs of other
   * tabs. The stream begins with the call of `watch()`, at the start of the current run. It ends
   * when you leave the loop, when you call `cancel()`, or when the connection ends. A slow reader
   * of this stream does not slow down the runs. The page keeps the events that were not read yet.
   * So call `cancel()` if you do not read the stream.
   */
  watch(): Omit<RemoteStream, 'result'>;
  /**
   * Continues the conversation from the stored log, for example to finish open tool calls or after
   * a pause.
   */
  resume<N extends Name<T> = never>(options?: RemoteCallOptions<N>): Promise<AgentResult<T[N]>>;
  /** Decides about pending tool calls and continues the run. */
  decide<N extends Name<T> = never>(
    decisions: Decision | readonly Decision[],
    options?: RemoteCallOptions<N>,
  ): Promise<AgentResult<T[N]>>;
  /**
   * Returns the tool calls that wait for a decision or a result. The log keeps them across a
   * reload.
   */
  pending(): Promise<readonly PendingCall[]>;
  /** Does the same as `ReActAgent.interrupt`. Resolves when the agent has received the request. */
  interrupt(request?: string | Msg | InterruptRequest): Promise<boolean>;
  /** Aborts all runs of this connection. Their agent calls resolve with reason `aborted`. */
  abort(): void;
  messages(): Promise<readonly Msg[]>;
  /** Returns the conversation for `useChat({ messages })`. */
  uiMessages(): Promise<readonly UIMessage[]>;
  /** Deletes the conversation. Rejects with `AGENT_BUSY` during an agent call. */
  clear(): Promise<void>;
  /**
   * Returns a transport for the AI SDK that needs no server: `useChat({ transport:
   * agent.chatTransport() })`.
   */
  chatTransport(options?: WorkerChatTransportOptions): WorkerChatTransport;
  /**
   * Closes the connection and aborts its agent calls. The worker continues to run. To end it, call
   * `terminate()`.
   */
  close(): void;
  /**
   * Terminates the worker and thereby all connections to it. For a SharedWorker, only closes this
   * connection.
   */
  terminate(): void;
}

export function createRemoteAgent(
  link: WorkerLink,
  worker: Worker | SharedWorker,
  { sessionId, agent: agentName }: Pick<ConnectOptions, 'sessionId' | 'agent'>,
): RemoteAgent {
  const { ask, begin, abort, close } = sessionClient(link);
  const beginCall = (
    kind: 'call' | 'stream',
    input?: AgentInput,
    options: RemoteCallOptions = {},
  ): RemoteRun<AgentEvent> => {
    // The agent in the worker checks the other options.
    if (Object(options) !== options || (options.signal && !options.signal.addEventListener))
      throw new AgentError(
        'INVALID_INPUT',
        'The options of an agent call must be an object, and `signal` an AbortSignal.',
      );
    const { signal, detached: _detached, ...sentOptions } = options;
    return begin(kind, { input, options: sentOptions }, signal);
  };
  const waitForCall = async (
    input?: AgentInput,
    options?: RemoteCallOptions,
  ): Promise<AgentResult<never>> => {
    const { value } = await beginCall('call', input, options).batches.next();
    return value as AgentResult<never>;
  };
  const call: RemoteAgent<never>['call'] = (input, options) => {
    const result = waitForCall(input, options);
    // `watch()` and hooks tell of a failure, so nobody has to wait for the result.
    result.catch(() => {});
    return result;
  };

  return {
    sessionId,
    agentName,
    call,
    stream: (input, options) => toStream(beginCall('stream', input, options), options?.detached),
    watch() {
      const run = begin('watch', {});
      // The first read requests the events.
      const firstRead = run.batches.next();
      // The reader gets the error.
      firstRead.catch(() => {});
      return toStream(run, false, firstRead);
    },
    resume: (options) => call(undefined, options),
    decide: (decisions, options) => call([decisions].flat(), options),
    pending: () => ask('pending'),
    abort: () => abort(),
    interrupt: (request) => ask('interrupt', request),
    messages: () => ask('messages'),
    uiMessages: () => ask('uiMessages'),
    clear: () => ask('clear'),
    chatTransport: (options) => workerChatTransport(begin, options),
    close: () => close(),
    terminate() {
      close('The worker is terminated.');
      (worker as Partial<Worker>).terminate?.();
    },
  };
}

/** A watch begins before its first read, so a reader that leaves before this read cancels it. */
class WatchDriver extends RunDriver {
  override read(...options: Parameters<RunDriver['read']>): ReturnType<RunDriver['read']> {
    const batches = super.read(...options);
    const leave = batches.return.bind(batches);
    batches.return = async (value) => {
      const result = leave(value);
      await this.cancel();
      return result;
    };
    return batches;
  }
}

function toStream(
  { batches, abort }: RemoteRun<AgentEvent>,
  detached?: boolean,
  firstRead?: ReturnType<typeof batches.next>,
): RemoteStream<never> {
  const Driver = firstRead ? WatchDriver : RunDriver;
  const driver: RunDriver = new Driver({
    // Readers find the run's id in its events.
    runId: '',
    detached,
    abort,
    async run() {
      for (let read = firstRead; ; read = undefined) {
        const { done, value } = await (read ?? batches.next());
        if (done) return value;
        await driver.push(value);
      }
    },
  });
  if (detached) driver.start();
  return new AgentStream(driver) as RemoteStream as RemoteStream<never>;
}
