import type { EventBatch } from '@isoloop/core';
import { createUiMessageEncoder, type UiChunk, type UiMessageEncoder } from '@isoloop/core/ai-sdk';
import type { ChatTurn } from './chat-turn.ts';

/** A turn's events as one reader of it gets them. Without the `error` chunk: the failure itself ends the stream, with its code. */
export class ChatEncoder {
  readonly #events: boolean;
  #encoder: UiMessageEncoder | undefined;
  #before: readonly UiChunk[] = [];

  constructor(events: boolean) {
    this.#events = events;
  }

  begin({ messageId, before = [] }: ChatTurn): void {
    this.#encoder = createUiMessageEncoder({ events: this.#events, ...(messageId !== undefined && { messageId }) });
    this.#before = before;
  }

  encode(batch: EventBatch): readonly UiChunk[] {
    return this.#encoder!.encode(batch).flatMap((chunk) => {
      if (chunk.type === 'error') return [];
      if (chunk.type !== 'start') return [chunk];
      return [chunk, ...this.#before];
    });
  }
}
