import type { AgentOptions, CallOptions } from '../../agent/agent-options.ts';
import type { AgentStatus } from '../../event/agent-status.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import type { RunCall } from '../../tool/run-call.ts';
import type { ToolSet } from '../../tool/tool-set.ts';
import type { ContextPolicy } from '../context-policy.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { AgentCall, AgentHook, Middleware } from '../use/middleware.ts';
import type { Outbox } from './outbox.ts';

export type { CallOptions };

/** What an agent's runs share. */
export interface RunSetup {
  /** The defaults of the middleware are in them. */
  readonly options: AgentOptions;
  readonly sessionId: string;
  readonly memory: Memory;
  readonly tools: ToolSet;
  /** Without nested lists, and without what was replaced. */
  readonly use: readonly Middleware[];
  /** Those of them that make requests fit. */
  readonly policies: readonly ContextPolicy[];
  readonly model: ChatModel;
  readonly directAnswer: DirectAnswer;
  readonly runTool: RunCall;
  /** The loop and all that stands around it. */
  readonly call: AgentCall;
  readonly systemMessage: Msg | undefined;
  /** A system prompt as a message; the same one while the text is the same. Blank: nothing. */
  readonly toSystemMessage: (text: string) => Msg | undefined;
  readonly generateId: () => string;
  readonly now: () => number;
  readonly status: AgentStatus;
}

export interface RunParts {
  readonly hooks: readonly AgentHook[];
  readonly outbox: Outbox;
}
