import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';

/**
 * Decoder that turns one reply's wire chunks into deltas. It holds the state of that reply; each
 * request needs a new one.
 */
export interface ReplyDecoder {
  /** Whether the provider has said why the reply ended. */
  readonly finished: boolean;
  /**
   * Adds the deltas of a parsed chunk, or of a whole reply that came in one piece. Ignores a value
   * that is not such a chunk. Throws for a chunk whose text or calls have the wrong shape.
   */
  decode(chunk: unknown, deltas: ModelDelta[]): void;
  /** Returns the reply's last delta. Called once, when the stream has ended properly. */
  end(): ModelDelta;
}

/** Wire format of a provider. Pure: the same request gives the same body. */
export interface Formatter {
  /** Returns the JSON body of a streaming request. */
  format(request: ModelRequest): string;
  decoder(): ReplyDecoder;
}
