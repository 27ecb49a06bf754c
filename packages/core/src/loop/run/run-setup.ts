import type { AgentOptions, CallOptions } from '../../agent/agent-options.ts';
import type { AgentStatus } from '../../event/agent-status.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import type { RunCall } from '../../tool/run-call.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { ContextPolicy } from '../context-policy.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';
import type { AgentCall, AgentHook, Middleware } from '../use/middleware.ts';
import type { Outbox } from './outbox.ts';

export type { CallOptions };

/** The values that all runs of an agent share. */
export interface RunSetup {
  /** The agent's options, completed with the defaults of its middleware. */
  readonly options: AgentOptions;
  readonly sessionId: string;
  readonly memory: Memory;
  readonly tools: ToolSet;
  /** All middleware in one flat list, without replaced middleware. */
  readonly use: readonly Middleware[];
  /** The middleware with `fit`. */
  readonly policies: readonly ContextPolicy[];
  readonly model: ChatModel;
  readonly directAnswer: DirectAnswer;
  readonly onLimit: OnLimit;
  readonly runTool: RunCall;
  /** The loop inside the `wrapRun` of all middleware. */
  readonly call: AgentCall;
  readonly systemMessage: Msg | undefined;
  /**
   * Converts a system prompt to a message. Returns the same message for the same text, and nothing
   * for a blank one.
   */
  readonly toSystemMessage: (text: string) => Msg | undefined;
  readonly generateId: () => string;
  readonly now: () => number;
  readonly status: AgentStatus;
  /**
   * Writes of earlier agent calls that the store has not finished. The next agent call waits for
   * them.
   */
  readonly unwritten: Set<Promise<unknown>>;
}

export interface RunParts {
  readonly hooks: readonly AgentHook[];
  readonly outbox: Outbox;
}
