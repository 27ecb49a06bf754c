import {
  type AgentErrorData,
  type AgentEvent,
  type AgentInput,
  type AgentResult,
  type CallOptions,
  type InterruptRequest,
  type ModelFeatures,
  type Msg,
  type PendingCall,
  type ReplayPolicy,
  type ToolSchema,
  AgentError,
} from '@isoloop/core';
import type { UIMessage } from '@isoloop/core/stream';

/**
 * Marker of this library's messages, because an app may send its own messages over the same worker.
 * The number is the version of the whole protocol: of this file, and of the calls of page parts
 * and their results.
 */
export const protocol = 'isoloop/4';

/**
 * Message from page to worker, on the worker's global scope or the SharedWorker's port. `ping` asks
 * for a `hello`. `connect` transfers a port, over which Comlink exposes the `SessionApi`, and then
 * one port for each of its `offers` in the same order. `lock` is the name of a Web Lock that a page
 * of a SharedWorker holds until the connection ends.
 */
export type PageMessage =
  | { readonly protocol: typeof protocol; readonly type: 'ping' }
  /** Lifecycle event of the page. */
  | {
      readonly protocol: typeof protocol;
      readonly type: 'pagehide' | 'freeze' | 'pageshow' | 'resume';
    }
  | {
      readonly protocol: typeof protocol;
      readonly type: 'connect';
      /** Name of the agent, if the worker exposes several. */
      readonly agentName: string | undefined;
      readonly sessionId: string;
      readonly options: unknown;
      readonly offers: readonly PageOffer[];
      readonly lock: string | undefined;
    };

export type ConnectMessage = Extract<PageMessage, { readonly type: 'connect' }>;

/** Page that asked for a run. The run's page tools run on this page. */
export interface Asker {
  /** Id of the page's connection. */
  readonly pageId: string;
  /**
   * Name of the Web Lock that the page's worker holds until it ends. Absent if the browser has no
   * locks.
   */
  readonly lock?: string | undefined;
}

/** Description of a tool that runs on the page. The page also validates its input. */
export interface ToolOffer {
  readonly schema: ToolSchema;
  /** `true`: a page in any visible tab may run the tool. */
  readonly anyVisibleTab?: boolean;
  readonly timeoutMs?: number;
  /** `true`: for each tool call, the worker asks the page whether it needs approval. */
  readonly needsApproval?: boolean;
  readonly replay?: ReplayPolicy;
  readonly returnDirect?: boolean;
  readonly takesDecisions?: boolean;
}

/** Key of a handler in `on` of a hook. */
export type HookEventKey = AgentEvent['type'] | '*';

export interface HookOffer {
  readonly name: string;
  /** Priority of the handlers that set none. */
  readonly priority?: number;
  /** Priorities of the handlers by their keys, for handlers that set a priority. */
  readonly priorities: { readonly [K in HookEventKey]?: number };
  readonly onError?: 'fail' | 'ignore';
  /** Keys of the handlers in `on`: the event types that the hook handles, and `*` for all. */
  readonly events: readonly HookEventKey[];
}

/** Description of a part that a page offers to the agent. Each part has its own port. */
export type PageOffer =
  | { readonly kind: 'tools'; readonly tools: readonly ToolOffer[] }
  | { readonly kind: 'hooks'; readonly hooks: readonly HookOffer[]; readonly timeoutMs: number }
  | { readonly kind: 'approvals' }
  | {
      readonly kind: 'model';
      readonly provider: string;
      readonly modelId: string;
      readonly features: ModelFeatures;
    };

/**
 * Message from worker to page, on the port of a part: a call of the part, or its abort. `id` is
 * unique on that port.
 */
export type PageCall<Body> =
  | { readonly type: 'call'; readonly id: number; readonly body: Body }
  | { readonly type: 'abort'; readonly id: number };

/**
 * Message from page to worker, on the port of a part. Each call gets any number of messages
 * with `progress` and then one with the outcome.
 */
export type PageCallUpdate =
  | { readonly id: number; readonly progress: unknown }
  | { readonly id: number; readonly outcome: Outcome<unknown> };

/** Message from page to worker, on the port of a part: whether the user sees the page. */
export interface PageVisibility {
  readonly visible: boolean;
}

/**
 * Message from worker to page, at the end of `exposeAgent()` and after each `ping`: the worker
 * accepts connections. The page sends `connect` only after this message, because a worker whose
 * modules use top-level `await` loses earlier messages.
 */
export interface HelloMessage {
  readonly protocol: typeof protocol;
  readonly type: 'hello';
  /**
   * Name of a Web Lock that the worker holds until it ends. When a page gets the lock, the worker
   * has ended. Absent if the browser has no locks.
   */
  readonly lock?: string;
}

/**
 * Result or error of a request. Errors are sent as data, because Comlink keeps only the name,
 * message and stack of a thrown error.
 */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: AgentErrorData };

/**
 * Options of an agent call that the page sends to the worker. `output` is the name of an output.
 */
export interface SentOptions extends Omit<
  CallOptions,
  'signal' | 'detached' | 'context' | 'output'
> {
  readonly output?: string | undefined;
}

/**
 * Request for a run. A signal cannot be cloned, so the request has only its state, `aborted`. The
 * page reports a later abort with `abort(id)`.
 */
export interface RunRequest {
  /** Id of the request, unique within the connection. */
  readonly id: number;
  readonly aborted: boolean;
  readonly input: AgentInput | undefined;
  readonly options: SentOptions;
}

/**
 * Request of AI SDK's `useChat`. The page sends only the end of the conversation, because the
 * worker has the history.
 */
export interface ChatRequest {
  readonly id: number;
  readonly aborted: boolean;
  /**
   * `resume-stream` asks for the current run from its start. If no run is active, it continues an
   * interrupted run.
   */
  readonly trigger: 'submit-message' | 'regenerate-message' | 'resume-stream';
  /**
   * Messages from the last assistant message on. If there is no assistant message, only the last
   * message. The assistant message may have decisions and results that the page has not sent yet.
   */
  readonly messages: readonly unknown[];
  /** Id of the message that the request is about, if it is not the last message. */
  readonly messageId?: string | undefined;
  /** Whether to add the agent's events to the answer, as transient `data-isoloop-event` parts. */
  readonly events: boolean;
  /** Whether the tool parts have types, as those of `typedTransport()`. */
  readonly typed: boolean;
}

/**
 * API of the worker for one connection. The page passes a port with each request for a run. The
 * worker sends the batches and the end of the run over that port. For `call` it sends only the end.
 */
export interface SessionApi {
  call(request: RunRequest, port: MessagePort): void;
  stream(request: RunRequest, port: MessagePort): void;
  chat(request: ChatRequest, port: MessagePort): void;
  /**
   * Sends the events of all runs of the session, including runs of other tabs. Begins at the start
   * of the current run. Ends when the page calls `abort`.
   */
  watch(request: Pick<RunRequest, 'id' | 'aborted'>, port: MessagePort): void;
  /**
   * Aborts a run, or all runs of the connection if `id` is absent. Ignores an unknown id. The
   * worker gets the request for a run before its `abort`, because the port keeps the order.
   * `unread`: the page has received no event of the run. A resumed run then continues for its other
   * readers.
   */
  abort(id?: number, unread?: boolean): void;
  interrupt(request?: string | Msg | InterruptRequest): Promise<Outcome<boolean>>;
  pending(): Promise<Outcome<readonly PendingCall[]>>;
  messages(): Promise<Outcome<readonly Msg[]>>;
  uiMessages(): Promise<Outcome<readonly UIMessage[]>>;
  clear(): Promise<Outcome<void>>;
}

/** Beginning of the chat message that shows a run. */
export interface MessageStart {
  /** Id of the message that the run continues. Absent if the run starts a new message. */
  readonly messageId?: string;
  /** Messages of the answer so far, for a reader that rebuilds the whole message. */
  readonly earlierMessages?: readonly Msg[];
  /** Whether the run continues an answer that was cut off, for example by a reload. */
  readonly continues?: boolean;
}

/**
 * Message from worker to page, on the port of a run. The items are `WireEvent`s of a stream or
 * `UiChunk`s of a chat. The worker sends one `batch` message per macrotask. `reads` is the number
 * of the run's batches in the message, which is its cost in credits. `end` is the last message.
 */
export type RunMessage<T> =
  | { readonly type: 'batch'; readonly items: readonly T[]; readonly reads: number }
  | { readonly type: 'end'; readonly outcome: Outcome<AgentResult> };

/**
 * Message from page to worker, on the port of a run: the worker may send that many more batches of
 * the run.
 */
export interface CreditMessage {
  readonly credits: number;
}

/**
 * Number of credits at the start of each run. The worker may be that many batches ahead of the
 * page.
 */
export const initialCredits = 256;

export async function toOutcome<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await promise };
  } catch (error) {
    return { ok: false, error: AgentError.from(error).toJSON() };
  }
}

export function fromOutcome<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw AgentError.from(outcome.error);
}

/**
 * Converts an error that occurred when a message was sent. Data that cannot be cloned becomes
 * `INVALID_INPUT`.
 */
export function boundaryError(error: unknown): AgentError {
  const isUncloneable = (error as Error)?.name === 'DataCloneError';
  return AgentError.from(error, isUncloneable ? 'INVALID_INPUT' : undefined);
}
