import {
  array,
  either,
  nonNegative,
  number,
  object,
  oneOf,
  optional,
  share,
} from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { JsonObject } from '../message/json.ts';
import type { MediaBlock, Msg } from '../message/msg.ts';

/**
 * Features that a model supports. Media that the model does not support become text placeholders.
 */
export interface ModelFeatures {
  /** Whether the model supports native tool calls. */
  readonly tools: boolean;
  /** Kinds of media that the model reads. */
  readonly media: readonly MediaBlock['type'][];
  /**
   * Whether a request may have a `responseSchema`, which the model then follows. Default: false.
   */
  readonly responseSchema?: boolean;
  /** Size of the context window, in tokens, if known. */
  readonly contextWindow?: number;
  /** Whether `outputGuards` check the model's replies. */
  readonly guarded?: boolean;
  /** How `multiAgent()` writes the history of several agents, if its options do not say. */
  readonly history?: HistoryForm;
}

/** The features of a model whose options name none. */
export const defaultFeatures: ModelFeatures = {
  tools: true,
  responseSchema: true,
  media: ['image', 'file'],
};

/** Form in which a model gets the history of several agents. */
export interface HistoryForm {
  /** Which histories of a request have the header. Default: `each`. */
  readonly headerOn?: 'each' | 'first';
  /**
   * When messages begin with the name of their speaker. Default: `several`, if the history has
   * several messages, or one with a colon, because text before a colon looks like a name.
   */
  readonly names?: 'several' | 'always';
}

/** Tool as the model sees it. `parameters` is a JSON Schema. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean | undefined;
  /**
   * Who wrote the schema. The words of a `client`, such as one of `/v1`, never become a part of the
   * system prompt. Default: `program`.
   */
  readonly origin?: 'program' | 'client';
}

/**
 * Whether the model may, must not or must call a tool, or the name of the tool that it must call.
 */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/**
 * Settings of a model request, such as `temperature` and `maxTokens`. `undefined` means the
 * provider's default.
 */
export interface GenerateOptions {
  readonly toolChoice?: ToolChoice;
  /** Maximum number of tokens in the reply: a whole number of 1 or more. */
  readonly maxTokens?: number;
  /**
   * Randomness of the reply, 0 or more. Most models accept up to 2. Models that think refuse it, so
   * requests to GPT-5, to the o-series and to Claude Opus 4.7 to 4.9 have no `temperature` and
   * no `topP`.
   */
  readonly temperature?: number;
  /**
   * Share of the probability, from 0 to 1. The model picks only from the likeliest tokens that
   * together have this share (nucleus sampling).
   */
  readonly topP?: number;
  /**
   * Seed of the random choices, a whole number. Requests with the same seed give similar replies. A
   * model whose API has no seed rejects with `INVALID_INPUT`.
   */
  readonly seed?: number;
  /**
   * Texts that end the reply. The reply does not contain them. An empty list means none. A model
   * whose API has no such option rejects with `INVALID_INPUT`.
   */
  readonly stop?: readonly string[];
  /** JSON Schema that the reply has to match. */
  readonly responseSchema?: JsonObject;
  /** Fields merged into the request body unchanged. */
  readonly providerOptions?: JsonObject;
}

/**
 * `GenerateOptions` of an agent, an agent call or a preset. They override the values of a preset or
 * of the agent, field by field. An explicit `undefined` or `null` removes such a value, so that the
 * request does not have the field.
 */
export type GenerateSettings = {
  readonly [K in keyof GenerateOptions]?: GenerateOptions[K] | null | undefined;
};

/** What a model gets for one reply: messages, tools and settings. */
export interface ModelRequest extends GenerateOptions {
  readonly messages: readonly Msg[];
  readonly tools: readonly ToolSchema[];
  /**
   * Reader of the reply, if it is not the user. `program`: the reply is a value in JSON or YAML.
   * `model`: the reply is a note, such as a summary. Only wrappers of models use this field.
   * Providers do not get it.
   */
  readonly replyFor?: 'program' | 'model';
  /**
   * Whether the agent call ends with the reply, so that the model cannot correct it. Only wrappers
   * of models use this field.
   */
  readonly isFinal?: boolean;
}

/** Tokens that a request or an agent call used, as the provider counts them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `outputTokens`, if the provider reports it. */
  readonly reasoningTokens?: number;
  /** Part of `inputTokens` that came from the provider's cache, if the provider reports it. */
  readonly cachedInputTokens?: number;
}

interface DeltaBase {
  readonly signature?: string;
  readonly providerMetadata?: JsonObject;
}

/**
 * New part of a model's reply. `id` identifies the block of a text and is unique within the reply.
 * `index` identifies a tool call. A new index begins a new tool call. `finish` is the last delta of
 * a reply. Its `reason` is the provider's term. Known terms are `stop`, `tool_calls`, `length`,
 * `content_filter` and those in `finish-reason.ts`; after any other one, the answer counts as
 * incomplete. If the provider fails, `stream` throws, so that `retry()` can ask again. `reset`
 * discards all earlier deltas, because the reply starts again, for example after a retry.
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

/** A reply, one array of deltas for each network read. */
export type ReplyStream = AsyncGenerator<readonly ModelDelta[], void>;

/** Run that a request or a tool call belongs to. */
export interface RunInfo {
  /** Id of the agent's run, which is the work on one agent call. */
  readonly runId: string;
  /** Id of the agent's session, which is one stored conversation. */
  readonly sessionId: string;
  readonly userId?: string | undefined;
  /** Names of the nested agents, from the outermost agent to the agent of the run. */
  readonly agentPath: readonly string[];
}

/** Returns the ids of a run as plain data, for logs and for other threads. */
export function runInfo({ runId, sessionId, userId, agentPath }: RunInfo): RunInfo {
  return { runId, sessionId, ...(userId !== undefined && { userId }), agentPath };
}

/**
 * Slot in the session's log for the state of one reply. A model uses it if its provider can
 * continue a reply after the death of the process that asked for it.
 */
export interface ReplySlot {
  /**
   * Returns the state that an earlier process kept, until this process saves or removes a state.
   * `isCurrent`: whether the state belongs to a reply to this conversation. If false, nobody will
   * read that reply, for example because the user wrote a new message instead.
   */
  load(): Promise<{ readonly state: JsonObject; readonly isCurrent: boolean } | undefined>;
  /** Stores the state before the promise resolves. */
  save(state: JsonObject): Promise<void>;
  /** Removes the state, also after the end of the run. */
  clear(): Promise<void>;
}

/**
 * What a model gets beside a request, such as its signal and its run. Middleware must pass all
 * fields on.
 */
export interface ModelContext {
  readonly signal: AbortSignal;
  /**
   * Run of the request; absent if the request does not come from a run. From an agent, it is the
   * `Run` of the run, for `perRun()`. Pass on `runInfo(run)` outside the agent.
   */
  readonly run?: RunInfo | undefined;
  /**
   * Maximum length of a reply, in characters: `limits.replyLength` of the agent. The agent counts
   * the deltas of a model. A model counts text that it has not yielded yet. Default: no limit.
   */
  readonly replyLength?: number | undefined;
  /** Absent if the agent's memory does not store the state of a reply at once. */
  readonly replySlot?: ReplySlot | undefined;
  /**
   * Function that `fallback()` calls before each attempt, with the model of the attempt. The model
   * of the last attempt gives the reply.
   */
  readonly onModel?: ((model: Pick<ChatModel, 'provider' | 'modelId'>) => void) | undefined;
}

/**
 * A language model that an agent can ask, such as `openai()` returns. Implement it for a model of
 * your own, and test it with `modelConformance()`. `stream` yields the deltas of a reply, one array
 * for each network read. It rejects with an `AgentError`. It ends its network read when `signal` is
 * aborted or the iterator returns.
 */
export interface ChatModel {
  readonly provider: string;
  readonly modelId: string;
  readonly features: ModelFeatures;
  stream(request: ModelRequest, context: ModelContext): AsyncIterable<readonly ModelDelta[]>;
}

/** The usage before the first request: no tokens. */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

/** Adds the tokens of two requests. A request without usage adds nothing. */
export function addUsage<T extends Usage | undefined>(a: T, b: Usage | undefined): Usage | T {
  if (!a || !b) return b ?? a;
  const sum = { ...(a as Usage) };
  for (const key of Object.keys(b) as (keyof Usage)[])
    sum[key] = (tokenCount(a[key]) ?? 0) + (tokenCount(b[key]) ?? 0);
  return sum;
}

/** Returns a count of tokens. Some gateways send it as text. `undefined` if it is no count. */
export function tokenCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && value.trim() ? Number(value) : value;
  return typeof count === 'number' && count >= 0 && count < Infinity ? count : undefined;
}

export const generateOptions: OptionTable<GenerateOptions> = {
  toolChoice: optional(either(oneOf('auto', 'none', 'required'), object)),
  maxTokens: optional(nonNegative),
  temperature: optional(nonNegative),
  topP: optional(share),
  seed: optional(number),
  stop: optional(array),
  responseSchema: optional(object),
  providerOptions: optional(object),
};

/** Returns whether a request lets the model call tools. */
export function offersTools({ tools, toolChoice }: ModelRequest): boolean {
  return tools.length > 0 && toolChoice !== 'none';
}
