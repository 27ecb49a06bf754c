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
 * Marks our messages among an app's own on the same worker; the number is the version of all that
 * follows.
 */
export const protocol = 'isoloop/1';

/**
 * Page to worker, on the worker's global scope. `ping` asks for a `hello`. `connect` carries a
 * port, on which `SessionApi` answers over Comlink, and one more for each of its `offers`, in their
 * order; its `lock` is a Web Lock that the page of a SharedWorker holds as long as it lives.
 */
export type PageMessage =
  | { readonly protocol: typeof protocol; readonly type: 'ping' }
  /** What the page is told of its life. */
  | {
      readonly protocol: typeof protocol;
      readonly type: 'pagehide' | 'freeze' | 'pageshow' | 'resume';
    }
  | {
      readonly protocol: typeof protocol;
      readonly type: 'connect';
      /** Which of the worker's agents, where it has several. */
      readonly agent: string | undefined;
      readonly sessionId: string;
      readonly options: unknown;
      readonly offers: readonly PageOffer[];
      readonly lock: string | undefined;
    };

export type ConnectMessage = Extract<PageMessage, { readonly type: 'connect' }>;

/**
 * A tool that runs on the page, as the worker needs to know it; its input is checked there, too.
 */
export interface ToolOffer {
  readonly schema: ToolSchema;
  readonly timeoutMs?: number;
  /** `true`: the page is asked, call by call. */
  readonly needsApproval?: boolean;
  readonly replay?: ReplayPolicy;
  readonly returnDirect?: boolean;
  readonly takesDecisions?: boolean;
}

export interface HookOffer {
  readonly name: string;
  /** Of its handlers, where they say one. */
  readonly priorities: { readonly [K in AgentEvent['type']]?: number };
  readonly onError?: 'fail' | 'ignore';
  /** The events it listens to; `undefined`: all. */
  readonly events: readonly AgentEvent['type'][] | undefined;
}

/** What a page does for the agent, each on a port of its own. */
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

/** Worker to page, on an offer's port; `id` is unique on it. */
export type PageQuestion<Q> =
  | { readonly type: 'ask'; readonly id: number; readonly question: Q }
  | { readonly type: 'abort'; readonly id: number };

/** Page to worker, on an offer's port: any number of `progress`, then the outcome. */
export type PageAnswer =
  | { readonly id: number; readonly progress: unknown }
  | { readonly id: number; readonly outcome: Outcome<unknown> };

/**
 * Worker to page, when the agent is exposed and after each `ping`: connections are taken from now
 * on. A worker whose modules await at top level loses what was posted to it earlier, hence no
 * `connect` before this.
 */
export interface HelloMessage {
  readonly protocol: typeof protocol;
  readonly type: 'hello';
  /**
   * A Web Lock the worker holds as long as it lives: who gets it knows that the worker is gone.
   * Absent where there are no locks.
   */
  readonly lock?: string;
}

/** Errors cross as data: Comlink keeps only the name, message and stack of a thrown one. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: AgentErrorData };

/** What of a call's options crosses; an output by its name. */
export interface SentOptions extends Omit<
  CallOptions,
  'signal' | 'detached' | 'context' | 'output'
> {
  readonly output?: string;
}

/** A signal cannot be cloned: its state crosses with the request, its event as `abort(id)`. */
export interface RunRequest {
  /** Unique within the connection. */
  readonly id: number;
  readonly aborted: boolean;
  readonly input: AgentInput | undefined;
  readonly options: SentOptions;
}

/** A turn of AI SDK's chat; of its messages only the last is sent, the history is the worker's. */
export interface ChatRequest {
  readonly id: number;
  readonly aborted: boolean;
  /** `resume-stream`: what runs, from its start, or what was cut off. */
  readonly trigger: 'submit-message' | 'regenerate-message' | 'resume-stream';
  readonly message: unknown;
  /** Adds the agent's events to the answer as transient `data-isoloop-event` parts. */
  readonly events: boolean;
}

/**
 * What the worker does for one connection. A run's batches and its end come on the port that was
 * given with it; of a call the end alone.
 */
export interface SessionApi {
  call(request: RunRequest, port: MessagePort): void;
  stream(request: RunRequest, port: MessagePort): void;
  chat(request: ChatRequest, port: MessagePort): void;
  /**
   * All runs of the session, whichever tab asked for them, from the start of the one that is under
   * way. Ends when it is aborted.
   */
  watch(request: Pick<RunRequest, 'id' | 'aborted'>, port: MessagePort): void;
  /**
   * Goes the same way as the calls, so that it can't overtake them; an unknown id is ignored.
   * Without one: all of the connection. `unread`: nothing of the run has come, so that who wanted
   * to read a resumed one leaves it to others.
   */
  abort(id?: number, unread?: boolean): void;
  interrupt(request?: string | Msg | InterruptRequest): Promise<Outcome<boolean>>;
  pending(): Promise<Outcome<readonly PendingCall[]>>;
  messages(): Promise<Outcome<readonly Msg[]>>;
  uiMessages(): Promise<Outcome<readonly UiMessage[]>>;
  clear(): Promise<Outcome<void>>;
}

/**
 * Worker to page, on a run's port; items are `WireEvent`s of a stream, `UiChunk`s of a chat. One
 * `batch` a macrotask; `reads` says how many batches of the run it joins, which is what it costs in
 * credits. `end` is the last message.
 */
export type RunMessage<T> =
  | { readonly type: 'batch'; readonly items: readonly T[]; readonly reads: number }
  | { readonly type: 'end'; readonly outcome: Outcome<AgentResult> };

/** Page to worker, on a run's port: that many more batches of the run may be read. */
export interface CreditMessage {
  readonly credits: number;
}

/** The credits each run begins with: so far the worker may be ahead of the page. */
export const initialCredits = 128;
