import type { EventBatch, JsonObject } from '@isoloop/core';
import { type UiChunk, createUiMessageEncoder, type UiMessageEncoder } from '@isoloop/core/stream';
import { withEarlierAnswer } from '@isoloop/core/host';
import { shownEvent } from '../session/pending-calls.ts';
import type { MessageStart } from '../wire/protocol.ts';

/** Events of a run that has stored its input, or has ended without it. */
const afterInput = /^(pre-reasoning|pre-acting|run-end)$/;

interface ChatEncoderOptions {
  /** Whether to add the agent's events as data parts. */
  readonly events: boolean;
  /** Whether the tool parts have types. */
  readonly typed: boolean;
  /**
   * Whether the reader rebuilds the whole chat message, so that it also needs the content from
   * before the run.
   */
  readonly isReplay: boolean;
}

/**
 * Encodes the events of a run as chunks for one `useChat` reader. Drops the `error` chunk, because
 * the stream itself errors with the `AgentError`.
 */
export class ChatEncoder {
  readonly #options: ChatEncoderOptions;
  #encoder: UiMessageEncoder | undefined;
  /** Whether the next event is the first one of a run that continues an answer. */
  #marksNext = false;
  /**
   * First events of a replay, until the log has the question. A page reads the messages when the
   * replay has begun, so it must not begin earlier. `undefined`: the log has the question.
   */
  #earlyEvents: EventBatch | undefined;

  constructor(options: ChatEncoderOptions) {
    this.#options = options;
    if (options.isReplay) this.#earlyEvents = [];
  }

  begin(start: MessageStart): void {
    const { events, typed, isReplay } = this.#options;
    const { messageId, earlierMessages = [], continues = false } = start;
    this.#marksNext = continues;
    const encoder = createUiMessageEncoder({ events, typed, messageId });
    this.#encoder = withEarlierAnswer(encoder, isReplay ? earlierMessages : []);
    // The log has the question. The next event may be the result of a tool that runs for minutes.
    if (continues) this.#earlyEvents = undefined;
  }

  encode(batch: EventBatch): readonly UiChunk[] {
    const events = this.#earlyEvents ? [...this.#earlyEvents, ...batch] : batch;
    if (this.#earlyEvents && !events.some(({ type }) => afterInput.test(type))) {
      this.#earlyEvents = events;
      return [];
    }
    this.#earlyEvents = undefined;
    return this.#encoder!
      .encode(events.map(shownEvent))
      .flatMap((chunk) => this.#shownChunks(chunk));
  }

  #shownChunks(chunk: UiChunk): readonly UiChunk[] {
    if (chunk.type === 'error') return [];
    if (chunk.type !== 'data-isoloop-event' || !this.#marksNext) return [chunk];
    this.#marksNext = false;
    return [{ ...chunk, data: { ...(chunk.data as JsonObject), continues: true } }];
  }
}
