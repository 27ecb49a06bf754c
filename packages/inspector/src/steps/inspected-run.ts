import type { IncompleteReason } from '@isoloop/core/model';
import type { AgentErrorData, JsonValue, Msg, PendingCall, ToolSchema, Usage } from '@isoloop/core';
import type { EventChange } from '@isoloop/core/observe';

/**
 * Where the inspector has a run from. `live`: its events. `log`: the stored messages. `replay`: the
 * events of a replay.
 */
export type RunOrigin = 'live' | 'log' | 'replay';

/** A model request as the inspector shows it. */
export interface Prompt {
  /** The messages, or their number if an endpoint does not show them to this user. */
  readonly messages: readonly Msg[] | number;
  readonly tools: readonly ToolSchema[] | number;
  /** Settings of the request, such as `temperature`. */
  readonly options: object;
}

/** A tool call of a step. */
export interface ShownCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue | undefined;
}

/** The result of a tool call. */
export interface ShownResult {
  readonly state: string;
  /** Text, JSON or content blocks. `undefined` if the events do not contain it. */
  readonly output: unknown;
}

/** Fields of every step. Times are in milliseconds since 1970. */
interface StepBase {
  /** Unique within the run. */
  readonly key: string;
  readonly startedAt: number;
  /** Absent while the step runs. */
  readonly endedAt?: number | undefined;
  /** Size of what the step added to the log, as JSON, in bytes. */
  readonly bytes: number;
  /** What middleware changed, if the agent's middleware is `traceChanges()`. */
  readonly changes: readonly EventChange[];
}

/** A row of the timeline. */
export type InspectedStep = StepBase &
  (
    | { readonly kind: 'input'; readonly messages: readonly Msg[] | number }
    | {
        readonly kind: 'reason';
        /** Number of the model request in its run. */
        readonly iteration: number;
        readonly prompt: Prompt;
        /** Text and thinking so far. */
        readonly text: string;
        readonly thinking: string;
        /** Names of the tools that the reply calls. */
        readonly calls: readonly string[];
        /** The whole reply. Absent while it streams, and if the events do not contain it. */
        readonly reply?: Msg;
        readonly usage?: Usage | undefined;
        /** Why the reply may not be whole. */
        readonly incomplete?: IncompleteReason | undefined;
        /** Reasons why readers had to discard the text so far. */
        readonly resets: readonly string[];
        /** Whether the reply is the answer at a limit. */
        readonly isSummary: boolean;
      }
    | {
        readonly kind: 'act';
        readonly call: ShownCall;
        readonly problem?: string | undefined;
        readonly progress: readonly JsonValue[];
        readonly result?: ShownResult;
      }
    | {
        readonly kind: 'fit';
        readonly removed: number;
        /** Tokens. */
        readonly before: number;
        readonly after: number;
      }
    | { readonly kind: 'wait'; readonly pending: readonly Partial<PendingCall>[] }
    | { readonly kind: 'custom'; readonly message: Msg; readonly reason: string }
    | { readonly kind: 'error'; readonly error: Pick<AgentErrorData, 'code' | 'message'> }
  );

/** A step of one kind. */
export type StepOf<K extends InspectedStep['kind']> = Extract<InspectedStep, { readonly kind: K }>;

/** An agent call with its steps. */
export interface InspectedRun {
  readonly runId: string;
  readonly origin: RunOrigin;
  /** Names of the agents, from the outermost one to the agent of the run. */
  readonly agentPath: readonly string[];
  /** Whether the run continues another one. */
  readonly continues: boolean;
  readonly steps: readonly InspectedStep[];
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** Reason of the end. */
  readonly reason?: string | undefined;
  /** Why the answer may not be whole. */
  readonly incomplete?: IncompleteReason | undefined;
  /** Sum of all model requests. */
  readonly usage: Usage;
}
