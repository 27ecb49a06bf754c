import type { ContextPolicy } from '../context/context-policy.ts';
import type { Hook } from '../hook/hook.ts';
import type { Memory } from '../memory/memory.ts';
import type { ChatModel, GenerateOptions } from '../model/chat-model.ts';
import type { Tool } from '../tool/tool.ts';
import type { Toolkit } from '../tool/toolkit.ts';
import type { OnLimit } from './limit.ts';

export interface AgentOptions {
  readonly name: string;
  /** Goes first in every request; blank: none. */
  readonly systemPrompt?: string;
  readonly model: ChatModel;
  readonly tools?: readonly Tool[] | Toolkit;
  /** Default: an `InMemoryMemory` of its own. */
  readonly memory?: Memory;
  readonly hooks?: readonly Hook[];
  readonly limits?: {
    /** Rounds of reasoning and acting; default 10 (AgentScope: `maxIters`). At the limit `onLimit` gives the answer. */
    readonly iterations?: number;
    /** Tool calls that run at the same time; default: no cap. */
    readonly parallelTools?: number;
  };
  /** Default `summarize()`. */
  readonly onLimit?: OnLimit;
  /** Makes each request fit the model's window; default: nothing is cut. */
  readonly context?: ContextPolicy;
  /** For every request of this agent; a call's own options win. */
  readonly generate?: GenerateOptions;
  /** Default: a new one. Names the conversation in events. */
  readonly sessionId?: string;
  /** Where ids come from; default `crypto.randomUUID`. */
  readonly generateId?: () => string;
  /** Milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number;
}

export interface CallOptions extends GenerateOptions {
  /** Stops model, tools and waits at once; the call resolves with reason `aborted`. */
  readonly signal?: AbortSignal;
  /** The run goes on without a reader; a slow or absent reader does not hold it up. Default false. */
  readonly detached?: boolean;
  /** Default true: a failure rejects. False: it resolves as a result with reason `error` (Arc Reactor). */
  readonly throwOnError?: boolean;
}
