import type {
  AgentErrorData,
  AgentEvent,
  AgentInput,
  AgentResult,
  CallOptions,
  InterruptRequest,
  ModelFeatures,
  Msg,
  PendingCall,
  ReplayPolicy,
  ToolSchema,
} from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';

/**
 * Marks our messages among an app's own on the same worker. The number is the version of the whole
 * protocol below.
 */
export const protocol = 'isoloop/1';

/**
 * Page to worker, on the worker's global scope. `ping` asks for a `hello`. `connect` carries a port
 * on which `SessionApi` answers over Comlink. It also carries one port for each of its `offers`, in
 * their order. Its `lock` is a Web Lock that a page of a SharedWorker holds while the connection
 * lasts.
 */
export type PageMessage =
  | { readonly protocol: typeof protocol; readonly type: 'ping' }
  /** The page's lifecycle events. */
  | {
      readonly protocol: typeof protocol;
      readonly type: 'pagehide' | 'freeze' | 'pageshow' | 'resume';
    }
  | {
      readonly protocol: typeof protocol;
      readonly type: 'connect';
      /** Name of the agent, if the worker has several. */
      readonly agent: string | undefined;
      readonly sessionId: string;
      readonly options: unknown;
      readonly offers: readonly PageOffer[];
      readonly lock: string | undefined;
    };

export type ConnectMessage = Extract<PageMessage, { readonly type: 'connect' }>;

/** A tool that runs on the page, as the worker knows it. The page also validates its input. */
export interface ToolOffer {
  readonly schema: ToolSchema;
  readonly timeoutMs?: number;
  /** `true`: the worker asks the page for each call. */
  readonly needsApproval?: boolean;
  readonly replay?: ReplayPolicy;
  readonly returnDirect?: boolean;
  readonly takesDecisions?: boolean;
}

export interface HookOffer {
  readonly name: string;
  /** Priorities of its handlers, for those that set one. */
  readonly priorities: { readonly [K in AgentEvent['type']]?: number };
  readonly onError?: 'fail' | 'ignore';
  /** Event types the hook listens to; `undefined`: all. */
  readonly events: readonly AgentEvent['type'][] | undefined;
}

/** The parts a page offers to the agent. Each has its own port. */
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

/** Worker to page, on an offer's port; `id` is unique on that port. */
export type PageQuestion<Q> =
  | { readonly type: 'ask'; readonly id: number; readonly question: Q }
  | { readonly type: 'abort'; readonly id: number };

/** Page to worker, on an offer's port: any number of `progress`, then the outcome. */
export type PageAnswer =
  | { readonly id: number; readonly progress: unknown }
  | { readonly id: number; readonly outcome: Outcome<unknown> };

/**
 * Worker to page, when the agent is exposed and after each `ping`: the worker now accepts
 * connections. A worker whose modules await at top level loses messages posted before that. So the
 * page sends no `connect` before this message.
 */
export interface HelloMessage {
  readonly protocol: typeof protocol;
  readonly type: 'hello';
  /**
   * A Web Lock the worker holds as long as it lives. A page that gets the lock knows that the
   * worker is gone. Absent if there are no locks.
   */
  readonly lock?: string;
}

/**
 * A result or an error. Errors cross as data: Comlink keeps only the name, message and stack of a
 * thrown error.
 */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: AgentErrorData };

/** The options of a call that cross to the worker. An output crosses as its name. */
export interface SentOptions extends Omit<
  CallOptions,
  'signal' | 'detached' | 'context' | 'output'
> {
  readonly output?: string;
}

/**
 * A call or stream. A signal cannot be cloned: its state crosses with the request, its event as
 * `abort(id)`.
 */
export interface RunRequest {
  /** Unique within the connection. */
  readonly id: number;
  readonly aborted: boolean;
  readonly input: AgentInput | undefined;
  readonly options: SentOptions;
}

/**
 * A turn of AI SDK's chat. The page sends only the end of the conversation: the worker has the
 * history.
 */
export interface ChatRequest {
  readonly id: number;
  readonly aborted: boolean;
  /** `resume-stream`: the current run from its start, or else the interrupted run. */
  readonly trigger: 'submit-message' | 'regenerate-message' | 'resume-stream';
  /**
   * The messages from the last answer on, or the last message alone if there is no answer. The
   * answer may have decisions and results that the page has not sent yet.
   */
  readonly messages: readonly unknown[];
  /** Id of the message that the turn is about, if it is not the last one. */
  readonly messageId?: string | undefined;
  /** Adds the agent's events to the answer as transient `data-isoloop-event` parts. */
  readonly events: boolean;
}

/** What a turn of the chat is about, as the worker reads it from the request. */
export interface ChatMessage extends Pick<ChatRequest, 'trigger'> {
  readonly message: unknown;
  /** The last answer if there is one; any other message means nothing. */
  readonly answer?: unknown;
}

/**
 * The worker's API for one connection. The page gives each run a port. The worker sends the run's
 * batches and its end on that port; for a call it sends only the end.
 */
export interface SessionApi {
  call(request: RunRequest, port: MessagePort): void;
  stream(request: RunRequest, port: MessagePort): void;
  chat(request: ChatRequest, port: MessagePort): void;
  /**
   * Sends the events of all runs of the session, whichever tab started them. It begins at the start
   * of the current run and ends when the page aborts it.
   */
  watch(request: Pick<RunRequest, 'id' | 'aborted'>, port: MessagePort): void;
  /**
   * Aborts a run, or all runs of the connection if `id` is absent; ignores an unknown id. It takes
   * the same way as the calls, so it can't overtake them. `unread`: the page has received nothing
   * of the run. A resumed run then continues for its other readers.
   */
  abort(id?: number, unread?: boolean): void;
  interrupt(request?: string | Msg | InterruptRequest): Promise<Outcome<boolean>>;
  pending(): Promise<Outcome<readonly PendingCall[]>>;
  messages(): Promise<Outcome<readonly Msg[]>>;
  uiMessages(): Promise<Outcome<readonly UiMessage[]>>;
  clear(): Promise<Outcome<void>>;
}

/**
 * Worker to page, on a run's port. Items are `WireEvent`s of a stream or `UiChunk`s of a chat. The
 * worker sends one `batch` per macrotask. `reads` is the number of the run's batches it joins,
 * which is its cost in credits. `end` is the last message.
 */
export type RunMessage<T> =
  | { readonly type: 'batch'; readonly items: readonly T[]; readonly reads: number }
  | { readonly type: 'end'; readonly outcome: Outcome<AgentResult> };

/** Page to worker, on a run's port: the worker may read that many more batches of the run. */
export interface CreditMessage {
  readonly credits: number;
}

/** Credits at the start of each run: how many batches the worker may be ahead of the page. */
export const initialCredits = 128;
