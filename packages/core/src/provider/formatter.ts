import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';

/** Turns one reply's wire chunks into deltas. Holds the state of that reply; one a request. */
export interface ReplyDecoder {
  /** Whether the provider has said why the reply ended. */
  readonly finished: boolean;
  /**
   * Adds what a parsed chunk, or a whole reply that came in one piece, brings. Anything that is no
   * such chunk is ignored; one whose text or calls have another shape throws.
   */
  decode(chunk: unknown, deltas: ModelDelta[]): void;
  /** The reply's last delta. Called once, when the stream has ended properly. */
  end(): ModelDelta;
}

/** A provider's wire format. Pure: the same request gives the same body. */
export interface Formatter {
  /** The JSON body of a streaming request. */
  format(request: ModelRequest): string;
  decoder(): ReplyDecoder;
}
