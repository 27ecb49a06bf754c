import type { EventBatch } from '@isoloop/core';
import type { OpenAiEncoderOptions } from '@isoloop/core/openai';
import { hasBegun, hasOutput } from '../turn/event-stream.ts';

/**
 * How a client reads a turn: as AI SDK's UI messages, as the agent's own events, or as OpenAI's
 * completion, streamed or whole.
 */
export type TurnFace =
  | StreamFace
  | { readonly kind: 'completion'; readonly stream: boolean; readonly completion: Completion };

/**
 * Options of a completion, as plain JSON: the Worker sends them to the Durable Object, which
 * encodes the answer.
 */
export type Completion = Omit<OpenAiEncoderOptions, 'isExternal'>;

/** How a returning client reads a turn. */
export type StreamFace =
  | { readonly kind: 'ui'; readonly events: boolean }
  | { readonly kind: 'events' };

/**
 * Returns whether a batch opens the answer. Before that batch, the response has not started, so its
 * status can still report a refusal.
 */
export function opens({ kind }: TurnFace, batch: EventBatch): boolean {
  return kind === 'completion' ? hasOutput(batch) : hasBegun(batch);
}
