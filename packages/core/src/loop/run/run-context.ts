import type { AgentError } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, GenerateOptions, RunInfo, ToolSchema } from '../../model/chat-model.ts';
import type { Usage } from '../../model/usage.ts';
import type { Tool } from '../../tool/tool.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';

/** A run as middleware sees it. */
export interface RunContext extends RunInfo {
  /** Signal that aborts when the agent call is aborted, interrupted or paused. */
  readonly signal: AbortSignal;
  /** Reason why the run ends before its answer. `undefined` if nothing has stopped the run. */
  readonly cut: 'aborted' | 'interrupted' | 'paused' | undefined;
  /** Milliseconds since 1970, by the agent's clock. */
  now(): number;
  /** Number of model requests so far, without the summary at a limit. */
  readonly iteration: number;
  /** Tokens that the run has used so far. */
  readonly usage: Usage;
  /** The agent's model, inside the `wrapModel` of all middleware. */
  readonly model: ChatModel;
  /**
   * Settings of the run's model requests. Settings of the agent call override settings of the
   * agent.
   */
  readonly generate: GenerateOptions;
  /** The tools of this run. */
  readonly tools: ToolSet;
  /** The tools that middleware or the output mode added to this run. */
  readonly addedTools: readonly Tool[];
  /**
   * Schemas of the tools that the model may call now. Empty if the model does not support tools, or
   * at the limit of tool calls.
   */
  readonly toolSchemas: readonly ToolSchema[];
  /** System prompt of the next model request. Empty if there is none. */
  readonly systemPrompt: string;
  /** The agent's own system prompt, before middleware changed it. */
  readonly agentPrompt: string;
  /** Values that the agent call and the agent provide for tools, by `ContextToken`. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /** The conversation in the log so far, without the system prompt. */
  readonly messages: readonly Msg[];
  /**
   * Instructions of this agent call, and messages that middleware recalled for it. They are part of
   * each model request and are never stored.
   */
  readonly recalled: readonly Msg[];
  /**
   * Messages of the next model request before fitting: system prompt, recalled messages,
   * conversation.
   */
  readonly request: readonly Msg[];
  /** Id of the newest user message when the agent call began. */
  readonly promptId: string | undefined;
  /** Tool calls without a result. */
  readonly openCalls: readonly ToolUse[];
  /** The session's state. The run's next write stores it. */
  readonly state: Record<string, JsonValue>;
  /** Reads the session's state from its log. */
  loadState(): Promise<void>;
  /** Stores the session's state now. */
  storeState(): Promise<void>;
  /** Replaces the tools from the next model request on. */
  setTools(tools: ToolSet): void;
  /**
   * Replaces the system prompt from the next model request on. A blank text removes the system
   * prompt.
   */
  setSystemPrompt(text: string): void;
  /** Adds the usage of a middleware's own model request to the usage of the agent call. */
  addUsage(usage: Usage | undefined): void;
  /** Stops everything at once, as an abort does. The agent call fails with this error. */
  fail(error: AgentError): void;
  /** Interrupts this run, as `agent.interrupt()` does. Returns false if the run is about to end. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}
