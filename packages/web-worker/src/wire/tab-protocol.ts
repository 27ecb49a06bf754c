import type { AgentInput, AgentResult, InterruptRequest, Msg, PendingCall } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import type { ShownTurn } from './shown-turn.ts';
import type { WireEvent } from './delta-runs.ts';
import type { ChatMessage, Outcome, RunRequest } from './protocol.ts';

/** A requested run, in the form that tabs send to the session's leader. */
export type TabWork =
  | {
      readonly type: 'run';
      readonly input: AgentInput | undefined;
      readonly options: RunRequest['options'];
    }
  | ({ readonly type: 'chat' } & ChatMessage)
  /** Resumes the interrupted run. Gives nothing if there is none, or if a run is under way. */
  | { readonly type: 'resume' };

export type TabQuestion =
  | { readonly type: 'interrupt'; readonly request: string | Msg | InterruptRequest | undefined }
  | { readonly type: 'pending' | 'messages' | 'uiMessages' | 'clear' };

export type TabAnswer =
  | boolean
  | readonly PendingCall[]
  | readonly Msg[]
  | readonly UiMessage[]
  | void;

/** A tab's request to the leader. */
export type TabAsked =
  | { readonly type: 'work'; readonly work: TabWork }
  | { readonly type: 'ask'; readonly question: TabQuestion };

/** The outcome of a `TabAsked`. */
export type TabOutcome = Outcome<AgentResult | TabAnswer>;

/** The current run up to now. */
export interface RunSoFar {
  /** Id of the work that started the run. */
  readonly work: string;
  readonly turn: ShownTurn;
  readonly items: readonly WireEvent[];
}

/**
 * Message between the workers of one session, over its BroadcastChannel. `reign` is the id of a
 * leader's term. Tabs with older code know it by this name.
 */
export type TabMessage = { readonly from: string } & (
  | { readonly type: 'join' | 'ping' }
  /** `to` is the tab that joined. Without it the message goes to all tabs: a term begins. */
  | {
      readonly type: 'lead';
      readonly reign: string;
      readonly to?: string;
      readonly run: RunSoFar | undefined;
    }
  | { readonly type: 'pong'; readonly reign: string }
  | {
      readonly type: 'work';
      readonly reign: string;
      readonly id: string;
      readonly work: TabWork;
      readonly aborted: boolean;
      /** `true`: the tab sent this work to another leader before. */
      readonly again?: boolean;
    }
  /** `read`: another tab reads the run of this work, so its own reader must not slow it down. */
  | { readonly type: 'abort' | 'read'; readonly reign: string; readonly id: string }
  | {
      readonly type: 'ask';
      readonly reign: string;
      readonly id: string;
      readonly question: TabQuestion;
    }
  | {
      readonly type: 'events';
      readonly reign: string;
      readonly work: string;
      /** Sent with the first events of a run. */
      readonly turn?: ShownTurn | undefined;
      readonly items: readonly WireEvent[];
    }
  | {
      readonly type: 'done';
      readonly reign: string;
      readonly to: string;
      readonly id: string;
      readonly outcome: TabOutcome;
    }
);

/** A message without its sender. */
export type TabPost = TabMessage extends infer M
  ? M extends TabMessage
    ? Omit<M, 'from'>
    : never
  : never;
