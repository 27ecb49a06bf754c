import type { ContentBlock } from '../message/content-block.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { Schema } from '../schema/schema.ts';
import { toSchema, type InferInput, type SchemaLike } from '../schema/to-schema.ts';
import type { Awaitable } from '../hook/hook.ts';

export interface ToolContext {
  /** Raised when the call is aborted or timed out; hand it on to `fetch`. */
  readonly signal: AbortSignal;
  readonly toolUseId: string;
  /** The conversation as the model saw it. */
  readonly messages: readonly Msg[];
  /** The same for a replay of the same call. */
  readonly idempotencyKey: string;
  /** Progress for hooks and readers; the model never sees it (AgentScope: `ToolEmitter`). */
  emit(progress: JsonValue): void;
}

/** What a tool gives back: text and blocks go to the model as they are, anything else as JSON text. */
export type ToolOutput = string | readonly ContentBlock[] | JsonValue | undefined;

export interface ToolOptions<S extends SchemaLike> {
  /** Letters, digits, `_` and `-`, at most 64, as providers ask. */
  readonly name: string;
  readonly description: string;
  /** Zod, any Standard Schema with JSON Schema, or plain JSON Schema (an object schema; passed to the model, not checked). */
  readonly input: S;
  /** Milliseconds; default 5 minutes (AgentScope: tool execution defaults). */
  readonly timeoutMs?: number;
  readonly strict?: boolean;
  execute(input: InferInput<S>, context: ToolContext): Awaitable<ToolOutput>;
}

/** A tool as the toolkit holds it. Made by `tool()`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema<unknown>;
  readonly timeoutMs: number;
  readonly strict?: boolean;
  execute(input: unknown, context: ToolContext): Awaitable<ToolOutput>;
}
