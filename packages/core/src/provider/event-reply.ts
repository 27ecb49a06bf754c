import type { AgentError } from '../error/agent-error.ts';
import type { ReplyDecoder } from './formatter.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { badResponse, errorOfChunk } from './provider-error.ts';
import { SseParser, type ServerSentEvent } from './sse-parser.ts';

/**
 * Reply as server-sent events with one JSON chunk each, or as one JSON text from a server that does
 * not stream.
 */
export class EventReply {
  readonly #parser = new SseParser();
  readonly #text = new TextDecoder();
  readonly #decoder: ReplyDecoder;
  /** Text before the first event; the whole reply if it has no event. */
  #head = '';
  #streams = false;
  /** Whether the reply is complete because `[DONE]` came. Later events are ignored. */
  done = false;
  /** Error of the reply; the deltas before it are valid. */
  error: AgentError | undefined;

  constructor(decoder: ReplyDecoder) {
    this.#decoder = decoder;
  }

  /** Whether the reply's finish reason is known; at most its usage is still missing. */
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
   * Handles the end of the input. Some servers send no finish reason, others no `[DONE]`; a reply
   * needs one of the two.
   */
  end(): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    const rest = this.#parser.end();
    if (this.done || this.error) return deltas;
    const whole = !rest && !this.#streams;
    const problem = whole
      ? badResponse('The reply is not an event stream', this.#head)
      : badResponse('The reply ended early', rest?.data ?? 'no finish reason, no [DONE]', true);
    this.#take(rest ?? { event: '', data: whole ? this.#head : '' }, deltas, problem);
    if (this.done) return deltas;
    // A cut event may follow the reply's end, but a reply in one piece has nothing after it.
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
