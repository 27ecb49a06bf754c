import type { Memory } from '../memory/memory.ts';
import type { ChatModel, GenerateOptions } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { ContextEntry } from '../tool/context-token.ts';
import type { ToolSet } from '../tool/tool-set.ts';
import type { AgentDefaults } from '../loop/use/agent-defaults.ts';
import type { UseList } from '../loop/use/middleware.ts';
import type { ReturnDirect } from '../loop/direct-answer.ts';
import type { OutputMode } from '../loop/output-mode.ts';

export interface AgentOptions extends Partial<AgentDefaults> {
  readonly name: string;
  /** Goes first in every request; blank: none. */
  readonly systemPrompt?: string;
  readonly model: ChatModel;
  /** An array, or a `Toolkit`, which is forked. */
  readonly tools?: readonly Tool[] | ToolSet;
  /** What tools get for their tokens, where the call provides nothing else. */
  readonly toolContext?: Iterable<ContextEntry>;
  /** Default: an `InMemoryMemory` of its own. */
  readonly memory?: Memory;
  /**
   * What is not the loop: middleware such as `retry()`, presets, hooks. The first is the outermost
   * wrapper and the first guard. A list in the list, such as a preset, stands for its parts; a later
   * part of the same name replaces such a part.
   */
  readonly use?: UseList;
  /**
   * What a call does that comes while another runs: fail with `AGENT_BUSY` and change nothing
   * (default), wait for its turn, or give its messages to the running call and resolve with that
   * one's result (decisions, what comes as that one ends, and all calls where a middleware guards
   * the input, wait).
   */
  readonly whenBusy?: 'reject' | 'queue' | 'inject';
  /** Who the agent works for: in every event, and for guards. */
  readonly userId?: string;
  /** Default: a new one. Names the conversation in events. */
  readonly sessionId?: string;
  /** Where ids come from; default `crypto.randomUUID`. */
  readonly generateId?: () => string;
  /** Milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
}

export interface CallOptions<T = unknown> extends GenerateOptions {
  /** Stops model, tools and waits at once; the call resolves with reason `aborted`. */
  readonly signal?: AbortSignal;
  /**
   * The run goes on without a reader; a slow or absent reader does not hold it up. Default false.
   */
  readonly detached?: boolean;
  /**
   * Default true: a failure rejects. False: it resolves as a result with reason `error`, a busy
   * agent and a bad input too (Arc Reactor). Options of a wrong kind reject all the same.
   */
  readonly throwOnError?: boolean;
  /**
   * Names of the tools this call may use; default: all that are active. A name that no tool has
   * allows nothing, and is no error.
   */
  readonly allowTools?: readonly string[];
  /** Whether tools' results are the answer of this call; wins over the agent's. */
  readonly returnDirect?: ReturnDirect;
  /** What tools get for their tokens; wins over the agent's. */
  readonly toolContext?: Iterable<ContextEntry>;
  /** Has the call end with a typed value, such as `structured(schema)`. */
  readonly output?: OutputMode<T>;
}
