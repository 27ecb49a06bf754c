import type { AgentInput, AgentResult, InterruptRequest, Msg, PendingCall } from '@isoloop/core';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import type { ShownTurn } from './shown-turn.ts';
import type { WireEvent } from './delta-runs.ts';
import type { ChatRequest, Outcome, RunRequest } from './protocol.ts';

/** A run that somebody asks for, as it can be sent to the tab that leads the session. */
export type TabWork =
  | {
      readonly type: 'run';
      readonly input: AgentInput | undefined;
      readonly options: RunRequest['options'];
    }
  | { readonly type: 'chat'; readonly trigger: ChatRequest['trigger']; readonly message: unknown }
  /** What was cut off. Gives nothing where nothing was, or something runs. */
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

/** What a tab asks of the leader. */
export type TabAsked =
  | { readonly type: 'work'; readonly work: TabWork }
  | { readonly type: 'ask'; readonly question: TabQuestion };

/** What came of it. */
export type TabOutcome = Outcome<AgentResult | TabAnswer>;

/** The run that is under way, as far as it has come. */
export interface RunSoFar {
  /** The id of the work it is. */
  readonly work: string;
  readonly turn: ShownTurn;
  readonly items: readonly WireEvent[];
}

/**
 * Between the workers of one session, over its BroadcastChannel. `reign` is the id of a leader's
 * term. Tabs with older code know it by this name.
 */
export type TabMessage = { readonly from: string } & (
  | { readonly type: 'join' | 'ping' }
  /** `to`: the tab that joined. Without it, all tabs: a term begins. */
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
      /** Another leader had it before. */
      readonly again?: boolean;
    }
  /** `read`: somebody reads that work's run whom its own reader is not to hold up. */
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
      /** With the first events of a run. */
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
