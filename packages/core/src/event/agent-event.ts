import type { AgentErrorData } from '../error/agent-error.ts';
import type { AgentResult } from './agent-result.ts';
import type { PendingCall } from './pending-call.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { GenerateOptions, ToolSchema } from '../model/chat-model.ts';

/** Fields of every event. */
export interface AgentEventBase {
  /** Id of one call of one agent. */
  readonly runId: string;
  readonly sessionId: string;
  /** The agent's user, if it has one. */
  readonly userId?: string;
  /** Number that increases within a run. A gap means an event that only hooks saw. */
  readonly seq: number;
  /** Number of the current model request: 1 for the first, 0 before it. */
  readonly iteration: number;
  /** Names of the agents from the outermost to this one. */
  readonly agentPath: readonly string[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Event of a run. The pre-/post- pairs, the chunks and `error` are from AgentScope; the others are
 * ours. An iteration has `pre-reasoning`, chunks and `post-reasoning`; a tool call has
 * `pre-acting`, chunks and `post-acting`. If a person edits the call, readers get `pre-acting` with
 * the new arguments, too. A chunk carries only new content. `parallelIds()` adds
 * `parallelId` for readers.
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
    | {
        readonly type: 'pre-acting';
        readonly toolUse: ToolUse;
        /**
         * Reason why the call cannot run as it stands: no such tool, a tool that is not available,
         * or arguments that do not fit. A handler may return a repaired call. The handlers after it
         * and readers then see the problem that is left, if any.
         */
        readonly problem?: string;
        readonly parallelId?: string;
      }
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

/**
 * Events that arrive together: one array for each network read or tick of the event loop. Never
 * empty.
 */
export type EventBatch = readonly AgentEvent[];
