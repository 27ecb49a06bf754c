import type { AgentErrorData } from '../error/agent-error.ts';
import type { AgentResult } from './agent-result.ts';
import type { PendingCall } from './pending-call.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { GenerateOptions, ToolSchema } from '../model/chat-model.ts';

/** What every event carries. */
export interface AgentEventBase {
  /** One call of one agent. */
  readonly runId: string;
  readonly sessionId: string;
  /** Where the agent has one. */
  readonly userId?: string;
  /** Increases within a run; gaps mean events that only hooks saw. */
  readonly seq: number;
  /** 1 for the first request to the model, 0 before it. */
  readonly iteration: number;
  /** Names of the agents from the outermost to this one. */
  readonly agentPath: readonly string[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * The events of a run. Reference events (AgentScope): the pre-/post- pairs, the chunks and `error`;
 * ours: the others. Per iteration `pre-reasoning`, chunks, `post-reasoning`; per tool call
 * `pre-acting`, chunks, `post-acting`. A chunk carries only what is new. `parallelId` is there with
 * `parallelIds()`, for readers.
 */
export type AgentEvent = AgentEventBase &
  (
    | { readonly type: 'run-start'; readonly resumes?: string }
    | { readonly type: 'pre-call'; readonly input: readonly Msg[] }
    | { readonly type: 'post-call'; readonly message: Msg }
    | {
        readonly type: 'pre-reasoning';
        readonly messages: readonly Msg[];
        readonly tools: readonly ToolSchema[];
        readonly options: GenerateOptions;
      }
    | { readonly type: 'post-reasoning'; readonly message: Msg }
    | {
        readonly type: 'reasoning-chunk';
        readonly blockId: string;
        readonly kind: 'text' | 'thinking';
        readonly delta: string;
      }
    | {
        readonly type: 'tool-input-chunk';
        readonly toolUseId: string;
        readonly name: string;
        readonly delta: string;
      }
    | { readonly type: 'pre-acting'; readonly toolUse: ToolUse; readonly parallelId?: string }
    | {
        readonly type: 'acting-chunk';
        readonly toolUseId: string;
        readonly chunk: JsonValue;
        readonly parallelId?: string;
      }
    | {
        readonly type: 'post-acting';
        readonly toolUse: ToolUse;
        readonly result: ToolResult;
        readonly parallelId?: string;
      }
    | { readonly type: 'pre-summary'; readonly messages: readonly Msg[] }
    | { readonly type: 'summary-chunk'; readonly blockId: string; readonly delta: string }
    | { readonly type: 'post-summary'; readonly message: Msg }
    | { readonly type: 'step-reset'; readonly reason: string; readonly replacement?: Msg }
    | {
        readonly type: 'context-fitted';
        readonly removed: number;
        readonly before: number;
        readonly after: number;
      }
    | { readonly type: 'suspended'; readonly pending: readonly PendingCall[] }
    | { readonly type: 'error'; readonly error: AgentErrorData }
    | { readonly type: 'run-end'; readonly result: AgentResult }
  );

export type EventOf<K extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: K }>;

/** What one turn of the loop produced: one array per network read or tick. Never empty. */
export type EventBatch = readonly AgentEvent[];
