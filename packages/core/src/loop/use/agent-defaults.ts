import type { GenerateOptions } from '../../model/chat-model.ts';
import type { ReturnDirect } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';

export interface AgentLimits {
  /**
   * Rounds of reasoning and acting; default 10 (AgentScope: `maxIters`). At the limit `onLimit`
   * gives the answer.
   */
  readonly iterations?: number;
  /** Tool calls that run at the same time; default: no limit. */
  readonly parallelTools?: number;
  /**
   * Tool calls of one call; default: no limit (Arc Reactor: `maxToolCalls`). Tool calls that do not
   * run count, too. At the limit the model gets no tools and answers, and the call ends with reason
   * `limit`. A tool call beyond the limit gets an error result. A tool call that waits for somebody
   * counts in the call that requested it, not in the call that resumes it.
   */
  readonly toolCalls?: number;
  /**
   * Input and output tokens of one call, as the provider reports them. The loop checks the limit
   * before each request. At the limit `onLimit` answers.
   */
  readonly tokens?: number;
  /**
   * Time from the call's turn to its end, in milliseconds. It counts hooks and wrappers, but not
   * the wait for a place of a semaphore. A longer call fails with `CALL_TIMEOUT`, even if some of
   * its code still waits. The default and 0 set no limit.
   */
  readonly timeoutMs?: number;
}

/** Agent options that a middleware, such as a preset, may set. */
export interface AgentDefaults {
  /** Limits of a call. The agent's values override a preset's, field by field. */
  readonly limits: AgentLimits;
  /**
   * Settings of every request. A call's values override the agent's, and the agent's override a
   * preset's, field by field.
   */
  readonly generate: GenerateOptions;
  /** Gives the answer at a limit. Default `summarize()`. */
  readonly onLimit: OnLimit;
  /** Effect of an exception in a hook without its own `onError`. Default `fail`. */
  readonly onHookError: 'fail' | 'ignore';
  /**
   * Whether tool results are the answer. Overrides each tool's own `returnDirect`; a call's option
   * overrides both.
   */
  readonly returnDirect: ReturnDirect;
  /**
   * Whether `pre-call` hooks may change the input (default) or only observe it (AgentScope's
   * documentation).
   */
  readonly preCall: 'modifiable' | 'notification';
  /**
   * Which value counts if a tool's preset arguments and the model both set a parameter. Default
   * `preset`; AgentScope's documentation says `model`.
   */
  readonly presetPriority: 'preset' | 'model';
  /**
   * Answer of a call that was interrupted without a message. Default `You interrupted me. What
   * now?`.
   */
  readonly recoveryMessage: string;
  /**
   * Whether `interrupt({ mode: 'pause' })` without a running call pauses the next call before its
   * first request. Default false: it does nothing.
   */
  readonly pauseWhenIdle: boolean;
}
