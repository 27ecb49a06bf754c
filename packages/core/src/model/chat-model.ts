import type { JsonObject } from '../message/json.ts';
import type { MediaBlock } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from './usage.ts';

/** What a model can take; the rest is sent to it as a text placeholder. */
export interface ModelFeatures {
  /** Native tool calls. */
  readonly tools: boolean;
  /** The kinds of media it reads. */
  readonly media: readonly MediaBlock['type'][];
  /** Tokens it can hold, where known. */
  readonly contextWindow?: number;
  /** Whether `outputGuards` look at what it says. */
  readonly guarded?: boolean;
}

/** A tool as the model sees it: `parameters` is JSON Schema. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean | undefined;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** What of a request is the caller's to set; `undefined` leaves the provider's default. */
export interface GenerateOptions {
  readonly toolChoice?: ToolChoice;
  readonly maxTokens?: number;
  readonly temperature?: number;
  /** JSON Schema the reply has to satisfy. */
  readonly responseSchema?: JsonObject;
  /** Merged into the wire body as it is. */
  readonly providerOptions?: JsonObject;
}

export interface ModelRequest extends GenerateOptions {
  readonly messages: readonly Msg[];
  readonly tools: readonly ToolSchema[];
  /**
   * What the reply is where it is no text for a reader: `value`, JSON or YAML that is read by a
   * program; `note`, a summary for the model alone. For wrappers of models; no provider is sent it.
   */
  readonly replyIs?: 'value' | 'note';
}

interface DeltaBase {
  readonly signature?: string;
  readonly providerMetadata?: JsonObject;
}

/**
 * What is new in a reply. `id` names the block a text belongs to, unique within the reply; `index`
 * the tool call its input belongs to, and a new index begins a new call. `finish` is the last delta
 * of a complete reply; `reason` is the provider's word. `reset` takes back all deltas before it:
 * the reply begins anew (a retry, another model).
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

/** Whose run a request or a tool call is of. */
export interface RunInfo {
  readonly runId: string;
  readonly sessionId: string;
  readonly userId?: string | undefined;
  /** As the run's own events have it. */
  readonly agentPath: readonly string[];
}

/** What comes with a request. Middleware hands all of it on. */
export interface ModelContext {
  readonly signal: AbortSignal;
  /** Absent where no run asks. */
  readonly run?: RunInfo | undefined;
  /** Told by `fallback()` which model it asks, before each attempt: the last one is who answers. */
  readonly onModel?: ((model: Pick<ChatModel, 'provider' | 'modelId'>) => void) | undefined;
}

/**
 * A language model. `stream` gives one array a network read (never an empty promise chain per
 * delta), rejects with an `AgentError`, and ends its network read when `signal` is raised or the
 * iterator is returned.
 */
export interface ChatModel {
  readonly provider: string;
  readonly modelId: string;
  readonly features: ModelFeatures;
  stream(request: ModelRequest, context: ModelContext): AsyncIterable<readonly ModelDelta[]>;
}
