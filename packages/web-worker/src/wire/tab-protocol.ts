import type { AgentInput, AgentResult, InterruptRequest, Msg, PendingCall } from '@isoloop/core';
import type { UIMessage } from '@isoloop/core/stream';
import type { ChatTurnRequest } from '@isoloop/core/host';
import type {
  MessageStart,
  Asker,
  Outcome,
  PageCallUpdate,
  PageCall,
  RunRequest,
  ToolOffer,
} from './protocol.ts';
import type { WireEvent } from './wire-events.ts';

/**
 * Request for a run, which a tab sends to the leader. The leader is the tab whose worker runs the
 * agent of a shared session.
 */
export type TabTask = { readonly asker: Asker } & (
  | {
      readonly type: 'run';
      readonly input: AgentInput | undefined;
      readonly options: RunRequest['options'];
    }
  | { readonly type: 'chat'; readonly request: ChatTurnRequest }
  /** Resumes an interrupted run. Has no result if there is none, or if another run is active. */
  | { readonly type: 'resume' }
);

/** Page of a tab, with the tools that it offers. */
export interface TabPage {
  /** Id of the page's connection. */
  readonly pageId: string;
  readonly tools: readonly TabTools[];
}

/** Tools of one `pageTools()` of a page. */
export interface TabTools {
  readonly partId: string;
  readonly tools: readonly ToolOffer[];
  readonly visible: boolean;
}

/** Other request of a tab to the leader. */
export type TabCommand =
  | { readonly type: 'interrupt'; readonly request: string | Msg | InterruptRequest | undefined }
  | { readonly type: 'pending' | 'messages' | 'uiMessages' | 'clear' };

/** Result of a `TabCommand`. */
export type CommandResult =
  | boolean
  | readonly PendingCall[]
  | readonly Msg[]
  | readonly UIMessage[]
  | void;

/** Body of a request of a tab to the leader: a `task`, which is a run, or a `command`. */
export type TabRequestBody =
  | { readonly type: 'task'; readonly task: TabTask }
  | { readonly type: 'command'; readonly command: TabCommand };

/** Outcome of a tab's request. */
export type TabOutcome = Outcome<AgentResult | CommandResult>;

/** Active run with its events up to now. */
export interface ActiveRunState {
  /** Id of the request that started the run. */
  readonly requestId: string;
  readonly start: MessageStart;
  readonly items: readonly WireEvent[];
}

/** Version of `TabMessage`. Tabs refuse messages of another version. */
export const tabVersion = 8;

/**
 * Message between the tabs of one session, over a BroadcastChannel. `leaderId`: id of the leader,
 * which is another one when a tab leads again.
 */
export type TabMessage = { readonly version: typeof tabVersion; readonly senderId: string } & (
  | { readonly type: 'join' | 'ping' }
  /**
   * Announces the leader. `receiverId`: id of the tab that joined. Without it, the leader is new,
   * and the message is for all tabs.
   */
  | {
      readonly type: 'lead';
      readonly leaderId: string;
      readonly receiverId?: string | undefined;
      readonly run: ActiveRunState | undefined;
    }
  | { readonly type: 'pong'; readonly leaderId: string }
  | (TabRequestBody & {
      readonly leaderId: string;
      readonly requestId: string;
      readonly aborted: boolean;
      /** `true`: the tab has sent this request to an earlier leader too. */
      readonly isResent: boolean;
    })
  /**
   * `abort` aborts the run of a request. `read`: another tab also reads the run, so the requesting
   * tab's reader must not slow down the run.
   */
  | { readonly type: 'abort' | 'read'; readonly leaderId: string; readonly requestId: string }
  | {
      readonly type: 'events';
      readonly leaderId: string;
      /** Id of the request that started the run. */
      readonly requestId: string;
      /** Present with the first events of a run. */
      readonly start?: MessageStart | undefined;
      readonly items: readonly WireEvent[];
    }
  | {
      readonly type: 'done';
      readonly leaderId: string;
      readonly receiverId: string;
      readonly requestId: string;
      readonly outcome: TabOutcome;
    }
  /** All connected pages of a tab, for the leader. `lock`: the Web Lock of the tab's worker. */
  | {
      readonly type: 'pages';
      readonly leaderId: string;
      readonly lock: string | undefined;
      readonly pages: readonly TabPage[];
    }
  /** Call of the leader to a page of another tab, and its progress or outcome. */
  | {
      readonly type: 'page-call';
      readonly leaderId: string;
      readonly receiverId: string;
      readonly partId: string;
      readonly call: PageCall<unknown>;
    }
  | {
      readonly type: 'page-update';
      readonly leaderId: string;
      readonly partId: string;
      readonly update: PageCallUpdate;
    }
);

/** Message without its version and the id of its sender. */
export type TabPost = TabMessage extends infer M
  ? M extends TabMessage
    ? Omit<M, 'senderId' | 'version'>
    : never
  : never;
