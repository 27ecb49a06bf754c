import type { AgentErrorData } from '../error/agent-error.ts';
import type { AgentResult } from './agent-result.ts';
import type { PendingCall } from './pending-call.ts';
import type { ToolResult, ToolUse, Msg } from '../message/msg.ts';
import type { JsonValue } from '../message/json.ts';
import type { GenerateOptions, ToolSchema } from '../model/chat-model.ts';
import type { ReplyChunk } from '../model/reply/reply-assembler.ts';

/** Fields of every event. */
export interface AgentEventBase {
  /** Id of the run: one call of one agent. */
  readonly runId: string;
  readonly sessionId: string;
  /** The agent's user, if it has one. */
  readonly userId?: string;
  /**
   * Sequence number of the event, which only grows. Only hooks saw the missing numbers. Readers get
   * another number than hooks if other events were sent while the hooks ran. The same is true for
   * events of a nested agent, which get numbers of the calling agent's run.
   */
  readonly seq: number;
  /** Number of the current model request. 0 before the first request. */
  readonly iteration: number;
  /** Names of the nested agents, from the outermost agent to the agent of the event. */
  readonly agentPath: readonly string[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * What an agent tells hooks and readers while it runs. The `pre-` and `post-` events, the chunks
 * and `error` come from AgentScope; Isoloop adds the other events. Each iteration has
 * `pre-reasoning`, chunks and `post-reasoning`. Each tool call has `pre-acting`, chunks and
 * `post-acting`. If a person edits a tool call, readers also get a `pre-acting` event with the new
 * arguments. A chunk contains only new content. `parallelIds()` adds the field `parallelId` for
 * readers.
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
    | ReplyChunk
    | {
        readonly type: 'pre-acting';
        readonly toolUse: ToolUse;
        /**
         * Reason why the tool call cannot run now: the tool does not exist or is not available, or
         * the arguments are invalid. A handler may return a repaired tool call. Later handlers and
         * readers then see the problem of the repaired call, if it still has one. The tool call is
         * checked again when it starts, because earlier tool calls may change the tools.
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
        /** Error of a summary that failed or could not be stored. The agent call continues. */
        readonly error?: AgentErrorData;
      }
    | { readonly type: 'suspended'; readonly pending: readonly PendingCall[] }
    | { readonly type: 'error'; readonly error: AgentErrorData }
    | { readonly type: 'run-end'; readonly result: AgentResult }
  );

/** Name of a kind of event, such as `post-acting`. */
export type EventType = AgentEvent['type'];

/** The event of one type, such as `EventOf<'post-acting'>`. */
export type EventOf<K extends EventType> = Extract<AgentEvent, { readonly type: K }>;

/** What the sender of an event says. The run sets the other fields. */
export type EventData<K extends EventType> = Omit<EventOf<K>, 'type' | keyof AgentEventBase>;

/** Events of one network read or of one tick of the event loop. Never empty. */
export type EventBatch = readonly AgentEvent[];
