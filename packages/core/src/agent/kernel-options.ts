import type { ExtendedMemory } from '../memory/memory.ts';
import type { ChatModel, GenerateOptions, GenerateSettings } from '../model/chat-model.ts';
import { defaultReplyLength } from '../model/reply/reply-length.ts';
import type { StandardCallOptions, StandardOptions } from '../react-agent/agent-options.ts';
import type { ContextEntry } from '../tool/context-token.ts';
import type { ToolSource } from '../tool/tool.ts';
import { monotonicNow } from '../wait/monotonic.ts';
import type { UseList } from './middleware.ts';

/** Where an agent call has to stop, and how much of a reply or a tool result it takes. */
export interface KernelLimits {
  /**
   * Maximum number of model requests of one agent call. Default: 10. At the limit, the agent call
   * ends with reason `max-iterations`. Source: AgentScope, `maxIters`.
   */
  readonly iterations?: number;
  /** Maximum number of tool calls that run at the same time. Default: no limit. */
  readonly parallelTools?: number;
  /**
   * Maximum length of one model's reply, in characters. Text, thinking, and names and arguments of
   * tool calls count. One character of media data counts as 1/16. If a reply is longer, the agent
   * call fails with `MODEL_REPLY_TOO_LONG`, and the loop does not read the rest. Default:
   * 1,000,000.
   */
  readonly replyLength?: number;
  /**
   * Maximum number of tool calls in one reply. Tool calls beyond it do not run and get an error
   * result; `post-acting` is their only event. Default: 128.
   */
  readonly replyCalls?: number;
  /**
   * Maximum length of the text of a tool result as the model sees it, in characters. A longer
   * result is shortened, and a note in it says so. The log and readers have the whole result.
   * Default: 100,000.
   */
  readonly resultLength?: number;
  /**
   * Maximum time of an agent call from its turn to its end, in milliseconds. Includes hooks and
   * wrappers, but not the time in `run.wait.untimed()`. A longer agent call fails with
   * `CALL_TIMEOUT`, even if a hook or wrapper still runs. Default: no limit. 0 also sets no limit.
   */
  readonly timeoutMs?: number;
}

/** Options of the kernel that a middleware, such as a preset, may set. */
export interface KernelDefaults {
  /** Limits of an agent call. The agent's values override a preset's values, field by field. */
  readonly limits: KernelLimits;
  /**
   * Settings of every model request. Values of the agent call override the agent's values, which
   * override a preset's values, field by field. `undefined` and `null` remove a value.
   */
  readonly generate: GenerateSettings;
  /** Effect of an exception in a hook without its own `onError`. Default: `fail`. */
  readonly onHookError: 'fail' | 'ignore';
  /**
   * What `pre-call` hooks may do with the input. `change` (default): each hook gets the input that
   * the previous one returned. `notify`: each hook gets the input as it was sent. Source of
   * `notify`: AgentScope.
   */
  readonly preCallHooks: 'change' | 'notify';
  /**
   * Which value counts if a tool's preset arguments and the model both set a parameter. Default:
   * `preset`. AgentScope's documentation says `model`.
   */
  readonly presetPriority: 'preset' | 'model';
  /**
   * Answer of an agent call that was interrupted without a message. Default:
   * `You interrupted me. What now?`.
   */
  readonly recoveryMessage: string;
}

/** All options that a middleware may set in its `defaults`. */
export type AgentDefaults = KernelDefaults & StandardOptions;

/** Options that a middleware may set, completed with the defaults of middleware and kernel. */
export type CompletedOptions = Partial<AgentDefaults> &
  StandardCallOptions &
  KernelDefaults & {
    readonly limits: Required<KernelLimits>;
    readonly generate: GenerateOptions;
  };

/** The options of an agent, completed with the defaults of middleware and kernel. */
export type AgentSettings = KernelOptions &
  CompletedOptions &
  Required<Pick<KernelOptions, 'whenBusy' | 'generateId' | 'now' | 'monotonicNow'>>;

/** The defaults of the kernel's options. */
export const kernelDefaults: Omit<AgentSettings, 'name' | 'model'> = {
  limits: {
    iterations: 10,
    parallelTools: Infinity,
    replyLength: defaultReplyLength,
    replyCalls: 128,
    resultLength: 100_000,
    timeoutMs: 0,
  },
  generate: {},
  onHookError: 'fail',
  preCallHooks: 'change',
  presetPriority: 'preset',
  recoveryMessage: 'You interrupted me. What now?',
  whenBusy: 'reject',
  // Node links 20 strings to an id, 490 bytes. `trim` makes them one string, 80 bytes.
  generateId: () => crypto.randomUUID().trim(),
  now: () => Date.now(),
  monotonicNow,
};

/**
 * What an `Agent` is made of: its model and tools, its memory and limits, and middleware in `use`.
 * `S`: type of the tools.
 */
export interface KernelOptions<S extends ToolSource = ToolSource> extends Partial<KernelDefaults> {
  readonly name: string;
  /** System prompt: the first message of every model request. A blank prompt is not sent. */
  readonly systemPrompt?: string;
  readonly model: ChatModel;
  /** An array of tools, or a `Toolkit`. The agent uses its own copy of a toolkit (`fork()`). */
  readonly tools?: S | ToolSource;
  /** Values that tools look up by `ContextToken`. Values of an agent call override them. */
  readonly toolContext?: Iterable<ContextEntry>;
  /** Default: a new `InMemoryMemory`. */
  readonly memory?: ExtendedMemory;
  /**
   * Middleware such as `retry()`, presets and hooks. The first entry is the outermost wrapper. The
   * entries of a nested list, such as a preset, count as entries of this list. A later entry
   * replaces an entry of a preset that has the same name, even if the preset was spread into this
   * list. Two other entries of one name are `CONFIGURATION`.
   */
  readonly use?: UseList;
  /**
   * What happens to a new agent call while another one runs. `reject` (default): the new call fails
   * with `AGENT_BUSY` and changes nothing. `queue`: the new call waits for its turn.
   */
  readonly whenBusy?: 'reject' | 'queue';
  /** Id of the user for whom the agent works. Events contain it, and middleware can read it. */
  readonly userId?: string;
  /**
   * Id of the conversation, in events and as a key for what middleware stores. Default: the id of
   * `memory`, or a new one if the memory has none.
   */
  readonly sessionId?: string;
  /** Function that returns a new id. Default: `crypto.randomUUID`. */
  readonly generateId?: () => string;
  /** Clock for dates, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /**
   * Clock for durations and time limits, in milliseconds since any moment. It must never go back. A
   * clock in `now` does not replace it. Default: `performance.now`.
   */
  readonly monotonicNow?: () => number;
}

/**
 * Options of one agent call, such as a signal, middleware or model settings. They override those of
 * the agent.
 */
export interface KernelCallOptions extends GenerateSettings {
  /**
   * Signal that aborts the agent call. It stops the model, the tools and all waits at once. The
   * agent call then resolves with reason `aborted`, unless its input is refused.
   */
  readonly signal?: AbortSignal;
  /**
   * Whether the run continues without a reader. A slow or absent reader does not delay it. Default:
   * false.
   */
  readonly detached?: boolean;
  /**
   * Whether the caller has stored the messages of the input until the agent call ends, for example
   * in a queue on disk. The log then gets them together with its next write, which saves a write.
   * If the process dies before that, call the agent with the same input again. Default: false.
   */
  readonly inputStored?: boolean;
  /**
   * Whether a failed agent call rejects. Default: true. With false, it resolves with reason
   * `error`, even if the agent is busy or the input is invalid. Options of a wrong type always
   * reject. Source: Arc Reactor.
   */
  readonly throwOnError?: boolean;
  /** Values that tools look up by `ContextToken`. They override the agent's values. */
  readonly toolContext?: Iterable<ContextEntry>;
  /**
   * Middleware of this agent call. It is outside the agent's own. Middleware with the name of one
   * of the agent takes its place instead. Its `defaults` override those of the agent's middleware,
   * but not the agent's own options.
   */
  readonly use?: UseList;
}
