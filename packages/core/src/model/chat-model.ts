import type { JsonObject } from '../message/json.ts';
import type { MediaBlock } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from './usage.ts';

/** Kinds of input that a model supports. Any other input goes to it as a text placeholder. */
export interface ModelFeatures {
  /** Whether it supports native tool calls. */
  readonly tools: boolean;
  /** Kinds of media it reads. */
  readonly media: readonly MediaBlock['type'][];
  /** Size of the context window, in tokens, if known. */
  readonly contextWindow?: number;
  /** Whether `outputGuards` check its replies. */
  readonly guarded?: boolean;
}

/** Tool as the model sees it; `parameters` is JSON Schema. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean | undefined;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** Options of a request that the caller may set; `undefined` keeps the provider's default. */
export interface GenerateOptions {
  readonly toolChoice?: ToolChoice;
  readonly maxTokens?: number;
  readonly temperature?: number;
  /** JSON Schema that the reply has to match. */
  readonly responseSchema?: JsonObject;
  /** Fields merged into the request body unchanged. */
  readonly providerOptions?: JsonObject;
}

export interface ModelRequest extends GenerateOptions {
  readonly messages: readonly Msg[];
  readonly tools: readonly ToolSchema[];
  /**
   * Kind of a reply that is not text for a reader. `value`: JSON or YAML for a program. `note`: a
   * summary for the model only. It is for wrappers of models; providers do not get it.
   */
  readonly replyIs?: 'value' | 'note';
}

interface DeltaBase {
  readonly signature?: string;
  readonly providerMetadata?: JsonObject;
}

/**
 * New part of a reply. `id` names the block of a text and is unique within the reply. `index` names
 * the tool call of an input; a new index begins a new call. `finish` is the last delta of a
 * complete reply; its `reason` is the provider's term. `reset` discards all deltas before it: the
 * reply starts again (a retry, another model).
 */
export type ModelDelta = DeltaBase &
  (
    | { readonly type: 'text' | 'thinking'; readonly id: string; readonly delta: string }
    | {
        readonly type: 'tool-input';
        readonly index: number;
        readonly id?: string;
        readonly name?: string;
        readonly delta: string;
      }
    | { readonly type: 'file'; readonly mediaType: string; readonly data: string }
    | { readonly type: 'reset'; readonly reason: string }
    | {
        readonly type: 'finish';
        readonly reason: string;
        readonly usage?: Usage;
        readonly metadata?: JsonObject;
      }
  );

/** Run that a request or a tool call belongs to. */
export interface RunInfo {
  readonly runId: string;
  readonly sessionId: string;
  readonly userId?: string | undefined;
  /** Names of the agents, as in the run's own events. */
  readonly agentPath: readonly string[];
}

/** Context of a request. Middleware passes all of it on. */
export interface ModelContext {
  readonly signal: AbortSignal;
  /** Run of the request; absent if the request does not come from a run. */
  readonly run?: RunInfo | undefined;
  /** Longest reply to read, in characters: `limits.replyLength` of the agent. Default: no limit. */
  readonly replyLength?: number | undefined;
  /**
   * Callback of `fallback()`, called before each attempt with the model it asks. The last model is
   * the one that answers.
   */
  readonly onModel?: ((model: Pick<ChatModel, 'provider' | 'modelId'>) => void) | undefined;
}

/**
 * Language model. `stream` yields one array for each network read, not one promise for each delta.
 * It rejects with an `AgentError`. It ends its network read when `signal` is aborted or the
 * iterator returns.
 */
export interface ChatModel {
  readonly provider: string;
  readonly modelId: string;
  readonly features: ModelFeatures;
  stream(request: ModelRequest, context: ModelContext): AsyncIterable<readonly ModelDelta[]>;
}
