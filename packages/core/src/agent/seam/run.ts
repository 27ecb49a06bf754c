import type { JsonValue, JsonObject } from '../../message/json.ts';
import type { MessageContent, Msg, Role } from '../../message/msg.ts';
import type { RunInfo, Usage } from '../../model/chat-model.ts';
import type { CompletedOptions } from '../kernel-options.ts';
import type { RunCalls } from './calls.ts';
import type { RunEnding } from './ending.ts';
import type { RunEvents } from './events.ts';
import type { RunInbox } from './inbox.ts';
import type { RunLog } from './log.ts';
import type { RunModel } from './model.ts';
import type { RunPrompt } from './prompt.ts';
import type { RunTools } from './tools.ts';
import type { RunWait } from './wait.ts';

/** Fields of a message that `run.createMessage()` takes. */
export interface NewMessageOptions {
  readonly id?: string;
  readonly metadata?: JsonObject;
}

/**
 * The run: what middleware and hooks know about an agent call, and what they may do to it. The last
 * argument of each wrapper, hook and `mapEvent`.
 *
 * Values can be read everywhere, also in `mapEvent` and after the end of the run. Functions that
 * change something work in wrappers, in hooks, and in the tools of a middleware. In `mapEvent` they
 * throw `CONFIGURATION`, and after the end `ABORTED`. Members that differ say so. All functions
 * work alone, too: `const { edit } = run.log`.
 */
export interface Run extends RunInfo {
  /**
   * Id of the run that this run continues, for example after a decision. `undefined` if it begins
   * with an input of its own. Works everywhere.
   */
  readonly resumes: string | undefined;
  /** Signal that aborts when the agent call is aborted. Works everywhere. */
  readonly signal: AbortSignal;
  /**
   * Signal that aborts when the agent call is aborted, interrupted or paused. Works everywhere.
   */
  readonly stopSignal: AbortSignal;
  /**
   * Number of model requests of the loop so far, including requests that a hook canceled. Requests
   * of `run.model.ask()` do not count. Works everywhere.
   */
  readonly iteration: number;
  /** Tokens that the run has used so far. Works everywhere. */
  readonly usage: Usage;
  /**
   * The agent's options and those of the agent call, completed with the defaults of middleware.
   * Works everywhere.
   */
  readonly options: CompletedOptions;
  /**
   * The conversation so far, without the system prompt: the messages in the log, and those that
   * `run.prompt.include(messages, 'last')` added, which are not stored. Empty in `wrapRun` and
   * `wrapInput` before `next`, because the run has not read the log.
   */
  readonly messages: readonly Msg[];
  /**
   * Id of the question: the newest user message when the agent call began. `undefined` before
   * `next` of `wrapSettle`.
   */
  readonly questionId: string | undefined;
  /**
   * The session's state. The run's next write stores it. In `wrapRun` and `wrapInput`, call
   * `run.log.load()` first. After `next` of `wrapRun` no write follows: call `run.log.store()`
   * there. After the end of a run that was aborted, it is a copy.
   */
  readonly state: Record<string, JsonValue>;
  /** Milliseconds since 1970, by the agent's clock. For dates: this clock may go back. */
  now(): number;
  /** Milliseconds since any moment, by a clock that never goes back. For durations. */
  monotonicNow(): number;
  /**
   * Creates a message with the run's clock and ids. A user message has the origin `program`,
   * because no speaker wrote it. Works everywhere.
   */
  createMessage(role: Role, content: MessageContent, options?: NewMessageOptions): Msg;
  /** The session's log. */
  readonly log: RunLog;
  /** What the next model request says before the conversation. */
  readonly prompt: RunPrompt;
  /** The tools of this run. */
  readonly tools: RunTools;
  /** The agent's model, and further requests to it. */
  readonly model: RunModel;
  /** The open tool calls. */
  readonly calls: RunCalls;
  /** Events for hooks and readers. */
  readonly events: RunEvents;
  /** How the run ends. */
  readonly ending: RunEnding;
  /** Waits of the run for other code. */
  readonly wait: RunWait;
  /** What others ask of the run while it works. */
  readonly inbox: RunInbox;
}
