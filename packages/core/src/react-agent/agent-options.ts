import type { Agent } from '../agent/agent.ts';
import type { KernelCallOptions, KernelLimits, KernelOptions } from '../agent/kernel-options.ts';
import type { ReturnDirect } from '../answer/direct-answers.ts';
import type { OnLimit } from '../answer/on-limit.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { Decision } from '../event/pending-call.ts';
import type { RunLimits } from '../limits/run-limits.ts';
import type { Msg } from '../message/msg.ts';
import type { NoSchema, OutputMode } from '../output/output-mode.ts';
import type { ClientText } from '../prompt/client-texts.ts';
import type { ToolSource } from '../tool/tool.ts';

/** Where an agent call has to stop: iterations, tool calls, tokens, time and lengths. */
export type AgentLimits = KernelLimits & RunLimits;

/**
 * Options that `ReActAgent` has and the kernel's `Agent` does not. A preset may set them, and
 * middleware reads them from `run.options`.
 */
export interface StandardOptions {
  /** Limits of an agent call. They override a preset's values, field by field. */
  readonly limits?: AgentLimits;
  /**
   * Function that gives the answer at the limit of iterations or tokens. Default: `summarize()`.
   */
  readonly onLimit?: OnLimit;
  /**
   * Whether tool results become the answer. Overrides each tool's own `returnDirect`. The option
   * of an agent call overrides both.
   */
  readonly returnDirect?: ReturnDirect;
  /** Default of the option `deferRound` of `approvals()`. */
  readonly deferRound?: boolean;
  /**
   * Place of the documents of a `retrieval()` without its own `role`. `system`: in the system
   * prompt. Default: `user`.
   */
  readonly retrievalRole?: 'user' | 'system';
  /**
   * What `interrupt()` does if no agent call runs, for example `pauseNextCall`. Returns whether
   * it accepts the request. Default: `interrupt()` returns false.
   */
  readonly interruptWhenIdle?: (agent: Agent, request: string | Msg | InterruptRequest) => boolean;
  /**
   * What happens to a new agent call while another one runs. `reject` (default): the new call
   * fails with `AGENT_BUSY` and changes nothing. `queue`: the new call waits for its turn.
   * `inject`: the running call takes the messages of the new call once the guards accept them.
   * Both calls resolve with the same result. If a guard rejects the messages, only the new call
   * is rejected. With `inject`, a new call with decisions or instructions waits for its turn. A
   * new call also waits for its turn if the running call ends without its messages.
   */
  readonly whenBusy?: 'reject' | 'queue' | 'inject';
}

/**
 * What a `ReActAgent` is made of: its model and tools, its memory and limits, and middleware in
 * `use`. `S`: type of the tools.
 */
export interface AgentOptions<S extends ToolSource = ToolSource>
  extends Omit<KernelOptions<S>, 'whenBusy' | 'limits'>, StandardOptions {}

/** Options of an agent call that middleware reads from `run.options`. */
export interface StandardCallOptions {
  /**
   * Names of the tools that this agent call may use. Unknown names are ignored. Default: all active
   * tools. Middleware that brings its own tools reads the names.
   */
  readonly allowTools?: readonly string[];
  /** Whether tool results become the answer of this agent call. Overrides the agent's setting. */
  readonly returnDirect?: ReturnDirect;
}

/**
 * Options of one agent call, such as a time limit, a typed value or other model settings. They
 * override those of the agent.
 *
 * @example
 * const { output } = await agent.call('How warm is it?', { output: structured(schema), signal });
 */
export interface CallOptions<T = unknown> extends KernelCallOptions, StandardCallOptions {
  /**
   * Decisions about all open tool calls, if the input is a new message. The agent carries out the
   * decisions first. Without a new message, the decisions are ignored.
   */
  readonly decisions?: readonly Decision[] | undefined;
  /**
   * Messages to place after the system prompt in all model requests of this agent call. The guards
   * get them with the input. They are never stored.
   */
  readonly instructions?: readonly Msg[];
  /**
   * More texts of a client that the model will read, such as the schemas of the client's tools. The
   * guards get them with the input. For hosts.
   */
  readonly clientTexts?: readonly ClientText[];
  /** Output mode that gives the result a typed value. Example: `structured(schema)`. */
  readonly output?: NoSchema & OutputMode<T>;
}
