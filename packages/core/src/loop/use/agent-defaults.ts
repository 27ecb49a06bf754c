import type { GenerateOptions } from '../../model/chat-model.ts';
import type { ReturnDirect } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';

export interface AgentLimits {
  /**
   * Maximum number of model requests of one agent call. Default: 10 (AgentScope: `maxIters`). At
   * the limit, `onLimit` gives the answer.
   */
  readonly iterations?: number;
  /** Maximum number of tool calls that run at the same time. Default: no limit. */
  readonly parallelTools?: number;
  /**
   * Maximum number of tool calls in one agent call. Default: no limit (Arc Reactor:
   * `maxToolCalls`). Tool calls that do not run also count. At the limit, the model gets no tools,
   * and its answer ends the agent call with reason `limit`. A tool call beyond the limit gets an
   * error result. A pending tool call counts in the agent call that requested it, not in the agent
   * call that resumes it.
   */
  readonly toolCalls?: number;
  /**
   * Maximum number of input and output tokens of one agent call, as the provider reports them.
   * Default: no limit. The loop checks the limit before each model request. At the limit, `onLimit`
   * gives the answer.
   */
  readonly tokens?: number;
  /**
   * Maximum length of one model's reply, in characters. Text, thinking, and names and arguments of
   * tool calls count. One character of media data counts as 1/16. If a reply is longer, the agent
   * call fails with `MODEL_REPLY_TOO_LONG`, and the loop does not read the rest.
   * @default 1_000_000
   */
  readonly replyLength?: number;
  /**
   * Maximum number of tool calls in one reply. Tool calls beyond it do not run and get an error
   * result; `post-acting` is their only event. Default 128.
   */
  readonly replyCalls?: number;
  /**
   * Maximum length of the text of a tool result as the model sees it, in characters. A longer
   * result is cut, and a note in it says so. The log, readers and direct answers have the whole
   * result. Default 100,000.
   */
  readonly resultLength?: number;
  /**
   * Maximum time of an agent call from its turn to its end, in milliseconds. Includes hooks and
   * wrappers, but not the wait for a semaphore. A longer agent call fails with `CALL_TIMEOUT`, even
   * if a hook or wrapper still runs. Default: no limit. 0 also sets no limit.
   */
  readonly timeoutMs?: number;
}

/** Agent options that a middleware, such as a preset, may set. */
export interface AgentDefaults {
  /** Limits of an agent call. The agent's values override a preset's values, field by field. */
  readonly limits: AgentLimits;
  /**
   * Settings of every model request. Values of the agent call override the agent's values, which
   * override a preset's values, field by field.
   */
  readonly generate: GenerateOptions;
  /**
   * Function that gives the answer at the limit of iterations or tokens.
   * @default summarize()
   */
  readonly onLimit: OnLimit;
  /**
   * Effect of an exception in a hook without its own `onError`.
   * @default 'fail'
   */
  readonly onHookError: 'fail' | 'ignore';
  /**
   * Whether tool results become the answer. Overrides each tool's own `returnDirect`. The option of
   * an agent call overrides both.
   */
  readonly returnDirect: ReturnDirect;
  /**
   * Whether `pre-call` hooks may change the input. Default: `modifiable`. With `notification`, they
   * only observe the input, as AgentScope's documentation says.
   */
  readonly preCall: 'modifiable' | 'notification';
  /**
   * Which value counts if a tool's preset arguments and the model both set a parameter. Default:
   * `preset`. AgentScope's documentation says `model`.
   */
  readonly presetPriority: 'preset' | 'model';
  /**
   * Place of the documents of a `retrieval()` without its own `role`. `system`: in the system
   * prompt.
   * @default 'user'
   */
  readonly retrievalRole: 'user' | 'system';
  /**
   * Answer of an agent call that was interrupted without a message.
   * @default You interrupted me.
What now?
   */
  readonly recoveryMessage: string;
  /**
   * Whether `interrupt({ mode: 'pause' })` without a running agent call pauses the next one before
   * its first model request. Default: false; `interrupt` then does nothing.
   */
  readonly pauseWhenIdle: boolean;
}
