import type { AgentError } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, GenerateOptions, RunInfo, ToolSchema } from '../../model/chat-model.ts';
import type { Usage } from '../../model/usage.ts';
import type { Tool } from '../../tool/tool.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { CallState } from '../../event/call-state.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';

/** What middleware sees of a run. */
export interface RunContext extends RunInfo {
  /** Raised when the call is aborted, interrupted or paused. */
  readonly signal: AbortSignal;
  /** Why the run ends before its answer, if it does. */
  readonly cut: 'aborted' | 'interrupted' | 'paused' | undefined;
  /** Milliseconds since 1970, by the agent's clock. */
  now(): number;
  /** Rounds of reasoning so far. */
  readonly iteration: number;
  /** What the run has spent so far. */
  readonly usage: Usage;
  /** The model that the loop asks, middleware included. */
  readonly model: ChatModel;
  /** For the run's requests: the call's settings over the agent's. */
  readonly generate: GenerateOptions;
  /** The tools of this run. */
  readonly tools: ToolSet;
  /** The tools among them that middleware or a structured answer brings. */
  readonly addedTools: readonly Tool[];
  /** What the model may call now. Empty if it takes no tools, or their limit is reached. */
  readonly toolSchemas: readonly ToolSchema[];
  /** The system prompt of the next request; empty: none. */
  readonly systemPrompt: string;
  /** The agent's own system prompt, before middleware changed it. */
  readonly agentPrompt: string;
  /** What the call and the agent provide for tokens. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /** The conversation so far as the log has it, without the system prompt. */
  readonly messages: readonly Msg[];
  /** What was recalled for this call: it stands in each request and is never stored. */
  readonly recalled: readonly Msg[];
  /** The next request before it is made to fit: system prompt, recalled messages, conversation. */
  readonly request: readonly Msg[];
  /** The id of the message that the call was made with. */
  readonly promptId: string | undefined;
  /** Tool calls without a result. */
  readonly openCalls: readonly ToolUse[];
  /** What is known of the open calls, by id. */
  readonly callStates: ReadonlyMap<string, Readonly<CallState>>;
  /** The session's state. It is stored with what the run writes next. */
  readonly state: Record<string, JsonValue>;
  /** Reads the session's state from its log, if that has not happened yet. */
  loadState(): Promise<void>;
  /** Stores the session's state now. */
  storeState(): Promise<void>;
  /** The tools from the next request on. */
  setTools(tools: ToolSet): void;
  /** The system prompt from the next request on; blank: none. */
  setSystemPrompt(text: string): void;
  /** Counts what a request of the middleware's own has cost. */
  addUsage(usage: Usage | undefined): void;
  /** Stops everything at once, as an abort does, and has the call fail with this error. */
  fail(error: AgentError): void;
  /** As `agent.interrupt()`, for this run. False, and nothing done, when it is about to end. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}
