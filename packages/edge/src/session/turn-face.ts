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

/** Plain JSON: a turn that is queued is told of by another isolate. */
export type Completion = Omit<OpenAiEncoderOptions, 'isExternal'>;

/** How one that comes back reads it. */
export type StreamFace =
  | { readonly kind: 'ui'; readonly events: boolean }
  | { readonly kind: 'events' };

/** Whether a batch opens the answer: until then a refusal can be told by the response's status. */
export function opens({ kind }: TurnFace, batch: EventBatch): boolean {
  return kind === 'completion' ? hasOutput(batch) : hasBegun(batch);
}
