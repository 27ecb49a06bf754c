import type { AnswerBatches } from '@isoloop/core/host';
import { SseParser } from '@isoloop/core/model';
import type { UiChunk } from '@isoloop/core/stream';
import { onWake } from '../shared/page-life.ts';

/**
 * Reads an event stream up to its `[DONE]`, and then calls `onEnd`. Each piece of the network is a
 * batch.
 */
export async function* answerBatches({ body }: Response, onEnd?: () => void): AnswerBatches {
  const parser = new SseParser();
  const reader = body!.getReader();
  const reading = new AbortController();
  // The read then ends, as after a lost connection.
  onWake(() => void reader.cancel().catch(() => {}), reading.signal);
  try {
    for (let isOpen = true; isOpen;) {
      const { done, value } = await reader.read();
      // In WebKit, a lost connection looks like the end of the stream.
      if (done) throw new TypeError('The connection was lost.');
      yield parser.push(value).flatMap(({ data }) => {
        isOpen = data !== '[DONE]';
        return isOpen ? (JSON.parse(data) as UiChunk) : [];
      });
    }
    onEnd?.();
  } finally {
    reading.abort();
    reader.cancel().catch(() => {});
  }
}
