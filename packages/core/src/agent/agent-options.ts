import type { ContextPolicy } from '../loop/context-policy.ts';
import type { Hook } from '../event/hook.ts';
import type { Memory } from '../memory/memory.ts';
import type { ChatModel, GenerateOptions } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { ContextEntry } from '../tool/context-token.ts';
import type { ToolSet } from '../tool/tool-set.ts';
import type { Extension } from '../loop/extension.ts';
import type { OnLimit } from '../loop/limit.ts';
import type { ReturnDirect } from '../loop/direct-answer.ts';
import type { OutputMode } from '../loop/output-mode.ts';

export interface AgentOptions {
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
  readonly hooks?: readonly Hook[];
  /** Features that come as one piece, such as `longTermMemory()`. */
  readonly extensions?: readonly Extension[];
  readonly limits?: {
    /**
     * Rounds of reasoning and acting; default 10 (AgentScope: `maxIters`). At the limit `onLimit`
     * gives the answer.
     */
    readonly iterations?: number;
    /** Tool calls that run at the same time; default: no cap. */
    readonly parallelTools?: number;
    /**
     * Tool calls of one call; default: no limit. When they are used up the model gets no tools and
     * answers, and the call ends with reason `limit`; a call beyond it, in the same reply too, has
     * an error result (Arc Reactor: `maxToolCalls`). A call that waits for somebody counts in the
     * call that asked for it, not in the one that resumes it.
     */
    readonly toolCalls?: number;
    /**
     * Tokens of one call, in and out, as the provider reports them; looked at before each request.
     * At the limit `onLimit` answers.
     */
    readonly tokens?: number;
    /**
     * Milliseconds from the call's turn to its end; then it fails with `CALL_TIMEOUT`. Default, and
     * 0: no limit.
     */
    readonly timeoutMs?: number;
  };
  /** Default `summarize()`. */
  readonly onLimit?: OnLimit;
  /**
   * Makes each request fit the model's window, or shows less of the history; default: nothing is
   * left out. Several: `chain()`.
   */
  readonly context?: ContextPolicy;
  /**
   * What a call does that comes while another runs: fail with `AGENT_BUSY` and change nothing
   * (default), wait for its turn, or give its messages to the running call and resolve with that
   * one's result (decisions, what comes as that one ends, and all calls where an extension guards
   * the input, wait).
   */
  readonly whenBusy?: 'reject' | 'queue' | 'inject';
  /**
   * New input while tool calls have no result: fail with `PENDING_TOOL_CALLS` (default), or give
   * those an `interrupted` result.
   */
  readonly pendingToolRecovery?: boolean;
  /**
   * What an interrupted call answers that was given no message; default `You interrupted me. What
   * now?`.
   */
  readonly recoveryMessage?: string;
  /**
   * Whether `pre-call` hooks may change the input (default), or are only told (AgentScope's
   * document).
   */
  readonly preCall?: 'modifiable' | 'notification';
  /**
   * Whether tools' results are the answer, for calls that do not say it themselves; default: as
   * each tool says.
   */
  readonly returnDirect?: ReturnDirect;
  /**
   * Who wins where a preset and the model both set a parameter of a tool. Default `preset`; `model`
   * is AgentScope's document.
   */
  readonly presetPriority?: 'preset' | 'model';
  /** For every request of this agent; a call's own options win. */
  readonly generate?: GenerateOptions;
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
  readonly context?: Iterable<ContextEntry>;
  /** Has the call end with a typed value, such as `structured(schema)`. */
  readonly output?: OutputMode<T>;
}
