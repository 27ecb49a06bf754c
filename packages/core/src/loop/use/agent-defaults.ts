import type { GenerateOptions } from '../../model/chat-model.ts';
import type { ReturnDirect } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';

export interface AgentLimits {
  /**
   * Rounds of reasoning and acting; default 10 (AgentScope: `maxIters`). At the limit `onLimit`
   * gives the answer.
   */
  readonly iterations?: number;
  /** Tool calls that run at the same time; default: no cap. */
  readonly parallelTools?: number;
  /**
   * Tool calls of one call; default: no limit. When they are used up the model gets no tools and
   * answers, and the call ends with reason `limit`; a call beyond it, in the same reply too, has an
   * error result (Arc Reactor: `maxToolCalls`). A call that waits for somebody counts in the call
   * that asked for it, not in the one that resumes it.
   */
  readonly toolCalls?: number;
  /**
   * Tokens of one call, in and out, as the provider reports them; looked at before each request. At
   * the limit `onLimit` answers.
   */
  readonly tokens?: number;
  /**
   * Milliseconds from the call's turn to its end; then it fails with `CALL_TIMEOUT`. Default, and
   * 0: no limit.
   */
  readonly timeoutMs?: number;
}

/** Options of an agent that a middleware, such as a preset, may set for it. */
export interface AgentDefaults {
  /** Each limit for itself: the agent's wins over the preset's. */
  readonly limits: AgentLimits;
  /**
   * For every request of this agent, each setting for itself; a call's own settings win, then the
   * agent's.
   */
  readonly generate: GenerateOptions;
  /** What gives the answer at a limit. Default `summarize()`. */
  readonly onLimit: OnLimit;
  /** What an exception in a hook does that does not say it itself. Default `fail`. */
  readonly onHookError: 'fail' | 'ignore';
  /**
   * Whether tools' results are the answer, for calls that do not say it themselves; default: as
   * each tool says.
   */
  readonly returnDirect: ReturnDirect;
  /**
   * Whether `pre-call` hooks may change the input (default), or are only told (AgentScope's
   * document).
   */
  readonly preCall: 'modifiable' | 'notification';
  /**
   * Who wins where a preset and the model both set a parameter of a tool. Default `preset`; `model`
   * is AgentScope's document.
   */
  readonly presetPriority: 'preset' | 'model';
  /**
   * What an interrupted call answers that was given no message; default `You interrupted me. What
   * now?`.
   */
  readonly recoveryMessage: string;
}
