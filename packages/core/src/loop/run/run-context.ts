import type { AgentError } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, GenerateOptions, RunInfo, ToolSchema } from '../../model/chat-model.ts';
import type { Usage } from '../../model/usage.ts';
import type { Tool } from '../../tool/tool.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';

/** A run as middleware sees it. */
export interface RunContext extends RunInfo {
  /** Raised when the call is aborted, interrupted or paused. */
  readonly signal: AbortSignal;
  /** Reason why the run ends before its answer, if it does. */
  readonly cut: 'aborted' | 'interrupted' | 'paused' | undefined;
  /** Milliseconds since 1970, by the agent's clock. */
  now(): number;
  /** Rounds of reasoning so far. */
  readonly iteration: number;
  /** Tokens the run has used so far. */
  readonly usage: Usage;
  /** The model that the loop asks, with its middleware. */
  readonly model: ChatModel;
  /** Settings of the run's requests. The call's settings override the agent's. */
  readonly generate: GenerateOptions;
  /** The tools of this run. */
  readonly tools: ToolSet;
  /** The tools of this run that middleware or a structured answer added. */
  readonly addedTools: readonly Tool[];
  /**
   * Schemas of the tools the model may call now. Empty if it takes no tools or their limit is
   * reached.
   */
  readonly toolSchemas: readonly ToolSchema[];
  /** System prompt of the next request; empty if there is none. */
  readonly systemPrompt: string;
  /** The agent's own system prompt, before middleware changed it. */
  readonly agentPrompt: string;
  /** Values that the call and the agent provide for tools, by token. */
  readonly toolContext: ReadonlyMap<object, unknown>;
  /** The conversation in the log so far, without the system prompt. */
  readonly messages: readonly Msg[];
  /** Recalled messages of this call. They are part of each request and are never stored. */
  readonly recalled: readonly Msg[];
  /** The next request before fitting: system prompt, recalled messages, conversation. */
  readonly request: readonly Msg[];
  /** Id of the message that began the call. */
  readonly promptId: string | undefined;
  /** Tool calls without a result. */
  readonly openCalls: readonly ToolUse[];
  /** The session's state. The run's next write stores it. */
  readonly state: Record<string, JsonValue>;
  /** Reads the session's state from its log. */
  loadState(): Promise<void>;
  /** Stores the session's state now. */
  storeState(): Promise<void>;
  /** Sets the tools from the next request on. */
  setTools(tools: ToolSet): void;
  /** Sets the system prompt from the next request on. A blank text removes it. */
  setSystemPrompt(text: string): void;
  /** Adds the usage of the middleware's own request to the call's. */
  addUsage(usage: Usage | undefined): void;
  /** Stops everything at once, as an abort does. The call fails with this error. */
  fail(error: AgentError): void;
  /** Interrupts this run, as `agent.interrupt()` does. Returns false if the run is about to end. */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
}
