import type { OpenCall } from '../../event/agent-status.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import type { MessageContent, Msg, Role } from '../../message/msg.ts';
import type { ChatModel, RunInfo, ToolSchema, Usage } from '../../model/chat-model.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { Tool } from '../../tool/tool.ts';
import type { HaltReason } from '../../wait/halt.ts';
import type { CompletedOptions } from '../kernel-options.ts';

/** Fields of a message that `run.createMessage()` takes. */
export interface NewMessageOptions {
  readonly id?: string;
  readonly metadata?: JsonObject;
}

/**
 * What can be read of a run, also after its end. `mapEvent` and hooks at `error` and `run-end` get
 * it, because they must not change the run.
 */
export interface RunView extends RunInfo {
  /**
   * Id of the run that this run continues, for example after a decision. `undefined` if it begins
   * with an input of its own.
   */
  readonly resumes: string | undefined;
  /** Signal that aborts when the agent call is aborted. */
  readonly signal: AbortSignal;
  /**
   * Signal that aborts when the agent call is aborted, interrupted or paused. If work rejects with
   * its reason, let the error pass: the run ends as it was asked to. If that happens before the run
   * stores its input, the log gets nothing. A pause then fails the call with `ABORTED`, because no
   * later call could continue it.
   */
  readonly stopSignal: AbortSignal;
  /**
   * Number of model requests of the loop so far, including requests that a hook canceled. Requests
   * of `run.model.ask()` do not count.
   */
  readonly iteration: number;
  /**
   * Tokens of all model requests of this agent call so far, also of failed tries and of middleware.
   * Zero when the call begins.
   */
  readonly usage: Usage;
  /** The agent's options and those of the agent call, completed with the defaults of middleware. */
  readonly options: CompletedOptions;
  /**
   * The conversation so far, without the system prompt: the messages in the log, and those of
   * `run.prompt.includeLast()`, which are not stored. Empty in `wrapRun` and `wrapInput` before
   * `next`, because the run has not read the log.
   */
  readonly messages: readonly Msg[];
  /**
   * Id of the question: the newest user message when the agent call began. `undefined` before
   * `next` of `wrapSettle`.
   */
  readonly questionId: string | undefined;
  /** The session's state. After the end of a run that was aborted, it is a copy. */
  readonly state: Readonly<Record<string, JsonValue>>;
  /** Milliseconds since 1970, by the agent's clock. For dates: this clock may go back. */
  now(): number;
  /** Milliseconds since any moment, by a clock that never goes back. For durations. */
  monotonicNow(): number;
  /**
   * Creates a message with the run's clock and ids. A user message has the origin `program`,
   * because no speaker wrote it.
   */
  createMessage(role: Role, content: MessageContent, options?: NewMessageOptions): Msg;
  /** What the next model request says before the conversation. */
  readonly prompt: {
    /**
     * System prompt of the next model request: the base, then the texts of `append()`. Without
     * them, an empty text.
     */
    readonly text: string;
    /** The agent's own system prompt, or that of `set()`. */
    readonly base: string;
    /**
     * Messages of the next model request before `wrapRequest` changes it: the system prompt, the
     * messages of `include()`, then `run.messages`. Tool results have their whole length. Each use
     * makes a new list.
     */
    readonly messages: readonly Msg[];
  };
  /** The tools of this run. */
  readonly tools: {
    /** The tools that the run has now. */
    readonly current: ToolSet;
    /**
     * Schemas of the tools that the model may call now. Empty if the model does not support tools.
     */
    readonly schemas: readonly ToolSchema[];
    /**
     * The tools in `current` that are not the agent's own: those of `add()`, then those in the
     * member `tools` of middleware. A middleware that replaces the agent's tools leaves them alone.
     */
    readonly added: readonly Tool[];
    /** Values that the agent call and the agent provide, by `ContextToken`. */
    readonly context: ReadonlyMap<object, unknown>;
  };
  /** The agent's own model, also after a fallback. */
  readonly model: {
    readonly provider: string;
    readonly modelId: string;
    /** What the model supports inside the `wrapModel` of all middleware. */
    readonly features: ChatModel['features'];
  };
  /** The open tool calls. */
  readonly calls: {
    /**
     * Tool calls without a result, in the order of the calls. Each has its `state`: whether its
     * tool has started, what it waits for, and the decision about it. A call that a person
     * rejected, or whose result a person gave, has this `result`. One that a person edited has the
     * new arguments. Each use makes a new list, so a loop over tool calls should use it once.
     */
    readonly open: readonly OpenCall[];
  };
  /** How the run ends. */
  readonly ending: {
    /** Reason why the run ends before its answer. `undefined` if nothing has stopped the run. */
    readonly stopped: HaltReason | undefined;
  };
}
