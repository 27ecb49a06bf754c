import type { AgentErrorData, AgentInput, AgentResult, CallOptions, InterruptRequest, JsonValue, Msg } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';

/** Marks our messages among an app's own on the same worker; the number is the version of all that follows. */
export const protocol = 'isoloop/1';

/**
 * Page to worker, on the worker's global scope. `ping` asks for a `hello`. `connect` carries a port, on which `SessionApi` answers
 * over Comlink.
 */
export type PageMessage =
  | { readonly protocol: typeof protocol; readonly type: 'ping' }
  | { readonly protocol: typeof protocol; readonly type: 'connect'; readonly sessionId: string; readonly options: JsonValue };

/**
 * Worker to page, when the agent is exposed and after each `ping`: connections are taken from now on. A worker whose modules await at
 * top level loses what was posted to it earlier, hence no `connect` before this.
 */
export interface HelloMessage {
  readonly protocol: typeof protocol;
  readonly type: 'hello';
  /** A Web Lock the worker holds as long as it lives: who gets it knows that the worker is gone. Absent where there are no locks. */
  readonly lock?: string;
}

/** Errors cross as data: Comlink keeps only the name, message and stack of a thrown one. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: AgentErrorData };

/** A signal cannot be cloned: its state crosses with the request, its event as `abort(id)`. */
export interface RunRequest {
  /** Unique within the connection. */
  readonly id: number;
  readonly aborted: boolean;
  readonly input?: AgentInput;
  readonly options: Omit<CallOptions, 'signal' | 'detached'>;
}

/** A turn of AI SDK's chat; of its messages only the last is sent, the history is the worker's. */
export interface ChatRequest {
  readonly id: number;
  readonly aborted: boolean;
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly message: unknown;
  /** Adds the agent's events to the answer as transient `data-isoloop-event` parts. */
  readonly events: boolean;
}

/** What the worker does for one connection. A run's batches and its end come on the port that was given with it. */
export interface SessionApi {
  call(request: RunRequest): Promise<Outcome<AgentResult>>;
  stream(request: RunRequest, port: MessagePort): void;
  chat(request: ChatRequest, port: MessagePort): void;
  /** Goes the same way as the calls, so that it can't overtake them; an unknown id is ignored. */
  abort(id: number): void;
  interrupt(request?: string | Msg | InterruptRequest): Promise<Outcome<boolean>>;
  messages(): Promise<Outcome<readonly Msg[]>>;
  uiMessages(): Promise<Outcome<readonly UiMessage[]>>;
  clear(): Promise<Outcome<void>>;
}

/**
 * Worker to page, on a run's port; items are `WireEvent`s of a stream, `UiChunk`s of a chat. One `batch` a macrotask; `reads` says how many batches of the run it joins, which is what it costs
 * in credits. `end` is the last message.
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
