import type { Decision } from '../event/pending-call.ts';
import type { Memory } from '../memory/memory.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, GenerateOptions } from '../model/chat-model.ts';
import type { ContextEntry } from '../tool/context-token.ts';
import type { GivenTools } from '../tool/typed-tool.ts';
import type { AgentDefaults } from '../loop/use/agent-defaults.ts';
import type { Claim } from '../loop/input/claim.ts';
import type { UseList } from '../loop/use/middleware.ts';
import type { ReturnDirect } from '../loop/direct-answer.ts';
import type { NoSchema, OutputMode } from '../loop/output-mode.ts';

/** `G`: type of the tools. */
export interface AgentOptions<G extends GivenTools = GivenTools> extends Partial<AgentDefaults> {
  readonly name: string;
  /** System prompt: the first message of every model request. A blank prompt is not sent. */
  readonly systemPrompt?: string;
  readonly model: ChatModel;
  /** An array of tools, or a `Toolkit`. The agent uses its own copy of a toolkit (`fork()`). */
  readonly tools?: G | GivenTools;
  /** Values that tools look up by `ContextToken`. Values of an agent call override them. */
  readonly toolContext?: Iterable<ContextEntry>;
  /** Default: a new `InMemoryMemory`. */
  readonly memory?: Memory;
  /**
   * Middleware such as `retry()`, presets and hooks. The first entry is the outermost wrapper and
   * the first guard. The entries of a nested list, such as a preset, count as entries of this list.
   * A later entry replaces an entry of a preset that has the same name, even if the preset was
   * spread into this list. Two other entries of one name are `CONFIGURATION`.
   */
  readonly use?: UseList;
  /**
   * What happens to a new agent call while another one runs. `reject` (default): the new call fails
   * with `AGENT_BUSY` and changes nothing. `queue`: the new call waits for its turn. `inject`: the
   * running call takes the messages of the new call once the guards accept them. Both calls resolve
   * with the same result. If a guard rejects the messages, only the new call is rejected. With
   * `inject`, a new call with decisions or instructions waits for its turn. A new call also waits
   * for its turn if the running call ends without its messages.
   */
  readonly whenBusy?: 'reject' | 'queue' | 'inject';
  /** Id of the user for whom the agent works. Events contain it, and guards can read it. */
  readonly userId?: string;
  /** Id of the conversation in events. Default: a new id. */
  readonly sessionId?: string;
  /**
   * Function that returns a new id.
   * @default crypto.randomUUID
   */
  readonly generateId?: () => string;
  /**
   * Clock, in milliseconds since 1970.
   * @default Date.now
   */
  readonly now?: () => number;
}

export interface CallOptions<T = unknown> extends GenerateOptions {
  /**
   * Signal that aborts the agent call. It stops the model, the tools and all waits at once. The
   * agent call then resolves with reason `aborted`.
   */
  readonly signal?: AbortSignal;
  /**
   * Whether the run continues without a reader. A slow or absent reader does not delay it.
   * @default false
   */
  readonly detached?: boolean;
  /**
   * Whether a failed agent call rejects. Default: true. With false, it resolves with reason
   * `error`, even if the agent is busy or the input is invalid (Arc Reactor). Options of a wrong
   * type always reject.
   */
  readonly throwOnError?: boolean;
  /**
   * Names of the tools that this agent call may use. Unknown names are ignored. Default: all active
   * tools.
   */
  readonly allowTools?: readonly string[];
  /** Whether tool results become the answer of this agent call. Overrides the agent's setting. */
  readonly returnDirect?: ReturnDirect;
  /** Values that tools look up by `ContextToken`. They override the agent's values. */
  readonly toolContext?: Iterable<ContextEntry>;
  /**
   * Decisions about all open tool calls, if the input is a new message. The agent carries out the
   * decisions first. Without a new message, the decisions are ignored.
   */
  readonly decisions?: readonly Decision[];
  /**
   * Messages to place after the system prompt in all model requests of this agent call. The guards
   * judge them with the input. They are never stored.
   */
  readonly instructions?: readonly Msg[];
  /**
   * More texts of a client that the model will read, such as the schemas of the client's tools. The
   * guards judge them with the input. For hosts.
   */
  readonly claims?: readonly Claim[];
  /** Output mode that gives the result a typed value. Example: `structured(schema)`. */
  readonly output?: NoSchema & OutputMode<T>;
}
