import type { ModelDelta } from '../chat-model.ts';
import { ThinkSplitter } from '../reply/think-splitter.ts';
import { OpenAiDecoder } from './openai-decoder.ts';

/** Decodes the replies of a server that sends thinking within the text, in `<think>` tags. */
export class ThinkDecoder extends OpenAiDecoder {
  readonly #splitter: ThinkSplitter = new ThinkSplitter();

  override decode(chunk: unknown, deltas: ModelDelta[]): void {
    const chunkDeltas: ModelDelta[] = [];
    super.decode(chunk, chunkDeltas);
    for (const delta of chunkDeltas) this.#splitter.take(delta, deltas);
  }

  override flush(deltas: ModelDelta[]): void {
    this.#splitter.end(deltas);
    super.flush(deltas);
  }
}
