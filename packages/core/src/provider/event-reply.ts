import type { AgentError } from '../error/agent-error.ts';
import type { ReplyDecoder } from './formatter.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { badResponse, errorOfChunk } from './provider-error.ts';
import { SseParser, type ServerSentEvent } from './sse-parser.ts';

/**
 * A reply that comes as server-sent events with a JSON chunk each, or as one JSON text from a
 * server that does not stream.
 */
export class EventReply {
  readonly #parser = new SseParser();
  readonly #text = new TextDecoder();
  readonly #decoder: ReplyDecoder;
  /** What came before the first event; all of a reply without one. */
  #head = '';
  #streams = false;
  /** The reply is whole: `[DONE]` came. What follows is ignored. */
  done = false;
  /** What is wrong with the reply; the deltas before it are good. */
  error: AgentError | undefined;

  constructor(decoder: ReplyDecoder) {
    this.#decoder = decoder;
  }

  /** The reply's reason is known; at most its usage is still to come. */
  get finished(): boolean {
    return this.#decoder.finished;
  }

  push(bytes: Uint8Array): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    for (const event of this.#parser.push(bytes)) this.#take(event, deltas);
    if (!this.#streams) this.#head += this.#text.decode(bytes, { stream: true });
    return deltas;
  }

  /**
   * The input has ended. Some servers send no finish reason, others no `[DONE]`; one of the two has
   * to be there.
   */
  end(): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    const rest = this.#parser.end();
    if (this.done || this.error) return deltas;
    const whole = !rest && !this.#streams;
    const problem = whole
      ? badResponse('The reply is no event stream', this.#head)
      : badResponse('The reply breaks off', rest?.data ?? 'no finish reason, no [DONE]', true);
    this.#take(rest ?? { event: '', data: whole ? this.#head : '' }, deltas, problem);
    if (this.done) return deltas;
    // An event that is cut may come after the reply's end; in a whole reply nothing does.
    if (whole && this.error) return [];
    if (this.finished || (whole && deltas.length)) this.#finish(deltas);
    else this.error ??= problem;
    return deltas;
  }

  #take({ event, data }: ServerSentEvent, deltas: ModelDelta[], malformed?: AgentError): void {
    if (this.done || this.error || data === '') return;
    this.#streams = true;
    if (data.startsWith('[DONE]')) return this.#finish(deltas);
    try {
      const chunk: unknown = JSON.parse(data);
      this.error = errorOfChunk(chunk, event === 'error');
      if (!this.error) this.#decoder.decode(chunk, deltas);
    } catch {
      this.error =
        event === 'error'
          ? errorOfChunk({ message: data }, true)
          : (malformed ?? badResponse('An event is malformed', data));
    }
  }

  #finish(deltas: ModelDelta[]): void {
    this.done = true;
    this.error = undefined;
    deltas.push(this.#decoder.end());
  }
}
