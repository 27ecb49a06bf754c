import type { EventBatch } from '@isoloop/core';
import type { OpenAiEncoderOptions } from '@isoloop/core/openai';
import { hasBegun, hasOutput } from '../turn/event-stream.ts';

/**
 * Format in which a client gets a turn. `ui`: stream of the AI SDK. `events`: the agent's own
 * events. `completion`: OpenAI's chat completion, streamed or whole.
 */
export type TurnFace =
  | StreamFace
  | { readonly kind: 'completion'; readonly stream: boolean; readonly completion: Completion };

/**
 * Options of a completion, as plain JSON. The Worker sends the options to the Durable Object, which
 * encodes the answer.
 */
export type Completion = Omit<OpenAiEncoderOptions, 'isExternal'>;

/** Format in which a client that reconnects gets a turn. */
export type StreamFace =
  | { readonly kind: 'ui'; readonly events: boolean }
  | { readonly kind: 'events' };

/**
 * Returns whether the response can start with this batch of events. Before the start, the
 * response's status can still report a refusal.
 */
export function opens({ kind }: TurnFace, batch: EventBatch): boolean {
  return kind === 'completion' ? hasOutput(batch) : hasBegun(batch);
}
