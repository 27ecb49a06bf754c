import { jsonText } from '../../message/json.ts';
import type { AgentError } from '../../error/agent-error.ts';
import type { ModelDelta, ModelRequest } from '../chat-model.ts';

/**
 * Decoder that converts the chunks of one reply to deltas. The decoder keeps the state of that
 * reply, so each request needs a new decoder.
 */
export interface ReplyDecoder {
  /** Finish reason of the reply; empty until it is known. Then only its usage may be missing. */
  readonly finishReason: string;
  /** Whether the reply is complete. `undefined` if `[DONE]` decides. */
  readonly isComplete?: boolean | undefined;
  /** Error of a reply that has its last delta and cannot be used. Read after `end()`. */
  readonly failure?: AgentError | undefined;
  /** Characters that the decoder keeps and that are no deltas yet. Default: 0. */
  readonly bufferedLength?: number;
  /**
   * Returns the error that a parsed chunk or the data of an `error` event reports. Default:
   * `errorOfChunk`.
   */
  errorOf?(chunk: unknown, isErrorEvent: boolean): AgentError | undefined;
  /**
   * Adds the deltas of a parsed chunk, or of a whole reply that was not streamed. Ignores a value
   * that is not a chunk. Throws if text or tool calls in a chunk have the wrong type.
   */
  decode(chunk: unknown, deltas: ModelDelta[]): void;
  /** Adds the deltas that wait for the end of the reply. Called before `end`. */
  flush?(deltas: ModelDelta[]): void;
  /** Returns the last delta of the reply. Called once, after the end of the reply. */
  end(): ModelDelta;
}

/**
 * Fields as providers send them: any field may be missing or null, whatever the specification says.
 */
export type Loose<T> = { readonly [K in keyof T]?: T[K] | null };

/** Object to send as JSON. A field that is `undefined` is left out. */
export type WireObject = Readonly<Record<string, unknown>>;

/** Wire format of a provider. The same request always gives the same body. */
export interface Formatter {
  /** Returns the JSON body of a streaming request. */
  format(request: ModelRequest): string;
  decoder(): ReplyDecoder;
}

/** Returns a function that makes a value once for each object, such as the JSON of a message. */
export function memoize<T extends object, V>(make: (key: T) => V): (key: T) => V {
  const cache = new WeakMap<T, V>();
  return (key) => {
    const value = cache.get(key) ?? make(key);
    cache.set(key, value);
    return value;
  };
}

/**
 * Returns the JSON text of an object with further fields: lists of JSON texts. Leaves out an empty
 * list, and a list that the object has already.
 */
export function jsonWithLists(
  fields: object,
  lists: Readonly<Record<string, readonly string[]>>,
): string {
  let text = jsonText(fields).slice(0, -1);
  for (const [name, texts] of Object.entries(lists))
    if (texts.length && !(name in fields)) text += `,"${name}":[${joinTexts(texts)}]`;
  return `${text}}`;
}

/**
 * Joins texts with commas. Leaves out empty texts, which come from messages that the provider does
 * not get. `join` would copy a long history once more.
 */
export function joinTexts(texts: readonly string[]): string {
  return texts.reduce((list, text) => (list && text ? `${list},${text}` : list + text), '');
}
