import type { EventBatch } from '@isoloop/core';
import { isOpenAiFace, type OpenAiFace } from '../completions/completion-answer.ts';
import { hasBegun, hasOutput } from '../turn/event-stream.ts';

/**
 * Format in which a client gets a turn. `ui`: stream of the AI SDK. `events`: the agent's own
 * events. `completion` and `response`: OpenAI's formats, streamed or whole.
 */
export type TurnFace = StreamFace | OpenAiFace;

/** Format in which a client that reconnects gets a turn. */
export type StreamFace =
  | { readonly kind: 'ui'; readonly events: boolean | undefined }
  | {
      readonly kind: 'events';
      /** Whether the client may see the prompts. */
      readonly inspect?: boolean;
    };

/**
 * Returns whether the response can start with this batch of events. Before the start, the
 * response's status can still report a refusal.
 */
export function opens(face: TurnFace, batch: EventBatch): boolean {
  return isOpenAiFace(face) ? hasOutput(batch) : hasBegun(batch);
}
