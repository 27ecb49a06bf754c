import type { Decision } from '../event/pending-call.ts';
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
  /** First message of every request. A blank prompt sends none. */
  readonly systemPrompt?: string;
  readonly model: ChatModel;
  /** An array, or a `Toolkit`, which the agent forks. */
  readonly tools?: readonly Tool[] | ToolSet;
  /** Values that tools look up by token, unless the call provides its own. */
  readonly toolContext?: Iterable<ContextEntry>;
  /** Default: a new `InMemoryMemory`. */
  readonly memory?: Memory;
  /**
   * Everything around the loop: middleware such as `retry()`, presets, hooks. The first entry is
   * the outermost wrapper and the first guard. A nested list, such as a preset, stands for its
   * parts. A later part of the same name replaces a part of a nested list.
   */
  readonly use?: UseList;
  /**
   * How the agent treats a call while another one runs. `reject` (default): the call fails with
   * `AGENT_BUSY` and changes nothing. `queue`: it waits for its turn. `inject`: the running call
   * takes its messages in once the guards let them pass, and both resolve with the same result. If a
   * guard rejects them, only the new call is rejected. With `inject` a call still waits for its turn
   * if it brings decisions, or if the running call ends without its messages.
   */
  readonly whenBusy?: 'reject' | 'queue' | 'inject';
  /** The user the agent works for. Events carry it, and guards read it. */
  readonly userId?: string;
  /** Names the conversation in events. Default: a new id. */
  readonly sessionId?: string;
  /** Source of ids; default `crypto.randomUUID`. */
  readonly generateId?: () => string;
  /** Clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
}

export interface CallOptions<T = unknown> extends GenerateOptions {
  /** Stops model, tools and waits at once; the call resolves with reason `aborted`. */
  readonly signal?: AbortSignal;
  /**
   * Whether the run continues without a reader. A slow or absent reader does not delay it. Default
   * false.
   */
  readonly detached?: boolean;
  /**
   * Whether a failure rejects; default true. With false the call resolves with reason `error`, also
   * for a busy agent and invalid input (Arc Reactor). Options of a wrong kind always reject.
   */
  readonly throwOnError?: boolean;
  /** Names of the tools this call may use; default: all active tools. Unknown names are ignored. */
  readonly allowTools?: readonly string[];
  /** Whether tool results are the answer of this call. Overrides the agent's setting. */
  readonly returnDirect?: ReturnDirect;
  /** Values that tools look up by token. Overrides the agent's. */
  readonly toolContext?: Iterable<ContextEntry>;
  /**
   * Decisions about all open tool calls, for a call whose input is a new message. They are carried
   * out first. Without new messages they are ignored.
   */
  readonly decisions?: readonly Decision[];
  /** Makes the call end with a typed value, such as `structured(schema)`. */
  readonly output?: OutputMode<T>;
}
