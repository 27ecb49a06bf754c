import { isRecord } from '../message/json/is-record.ts';

export type RequestId = string | number;

/**
 * Reads the event ids of a stream that another reader reads, and the ids of the server's questions
 * in it. Takes time linear in the length of the stream.
 */
export class StreamObserver {
  /** Id of the last event with an id. */
  lastEvent: string | undefined;
  readonly #decoder = new TextDecoder();
  readonly #onQuestion: (id: RequestId) => void;
  /** Start of a line whose end has not arrived. */
  #partial = '';

  constructor(onQuestion: (id: RequestId) => void) {
    this.#onQuestion = onQuestion;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#partial += text;
    if (!/[\r\n]/.test(text)) return;
    const lines = this.#partial.split(/[\r\n]+/);
    this.#partial = lines.pop()!;
    for (const line of lines) {
      const event = /^id: ?(.+)/.exec(line)?.[1];
      if (event !== undefined) this.lastEvent = event;
      const question = questionIn(line);
      if (question !== undefined) this.#onQuestion(question);
    }
  }
}

function questionIn(line: string): RequestId | undefined {
  if (!/^data:.*"elicitation\/create"/.test(line)) return undefined;
  try {
    const message: unknown = JSON.parse(line.slice('data:'.length));
    const { id, method } = isRecord(message) ? message : {};
    const isId = typeof id === 'string' || typeof id === 'number';
    return isId && method === 'elicitation/create' ? id : undefined;
  } catch {
    // The SDK reports messages that are not valid.
    return undefined;
  }
}
