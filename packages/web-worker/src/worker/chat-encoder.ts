import type { EventBatch, JsonObject } from '@isoloop/core';
import { createUiMessageEncoder, type UiChunk, type UiMessageEncoder } from '@isoloop/core/ai-sdk';
import { shownEvent } from '../session/pending-calls.ts';
import type { MessageStart } from '../wire/protocol.ts';

type DataChunk = Extract<UiChunk, { readonly type: `data-${string}` }>;

export interface ChatEncoderOptions {
  /** Whether to add the agent's events as data parts. */
  readonly events: boolean;
  /**
   * Whether the reader rebuilds the whole chat message, so that it also needs the content from
   * before the run.
   */
  readonly replays: boolean;
}

/**
 * Encodes the events of a run as chunks for one `useChat` reader. Drops the `error` chunk, because
 * the stream itself errors with the `AgentError`.
 */
export class ChatEncoder {
  readonly #options: ChatEncoderOptions;
  #encoder: UiMessageEncoder | undefined;
  #earlierChunks: readonly UiChunk[] = [];
  #continues = false;

  constructor(options: ChatEncoderOptions) {
    this.#options = options;
  }

  begin({ messageId, earlierChunks = [], continues = false }: MessageStart): void {
    const { events, replays } = this.#options;
    this.#encoder = createUiMessageEncoder({
      events,
      ...(messageId !== undefined && { messageId }),
    });
    this.#earlierChunks = replays ? earlierChunks : [];
    this.#continues = continues;
  }

  encode(batch: EventBatch): readonly UiChunk[] {
    return this.#encoder!.encode(batch.map(shownEvent)).flatMap((chunk) => {
      if (chunk.type === 'error') return [];
      if (this.#continues && chunk.type === 'data-isoloop-event') return [this.#marked(chunk)];
      if (chunk.type !== 'start') return [chunk];
      return [chunk, ...this.#earlierChunks];
    });
  }

  /** Marks the first event of a run that continues an answer that was cut off. */
  #marked(chunk: DataChunk): DataChunk {
    this.#continues = false;
    return { ...chunk, data: { ...(chunk.data as JsonObject), continues: true } };
  }
}
