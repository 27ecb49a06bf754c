import type { AgentError } from '../error/agent-error.ts';
import type { ReplyDecoder } from '../formatter/formatter.ts';
import type { ModelDelta } from './chat-model.ts';
import { badResponse, errorOfChunk } from './provider-error.ts';
import { SseParser, type ServerSentEvent } from './sse-parser.ts';

/** A reply that comes as server-sent events with a JSON chunk each. */
export class EventReply {
  readonly #parser = new SseParser();
  readonly #decoder: ReplyDecoder;
  #first: Uint8Array | undefined;
  #events = 0;
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
    this.#first ??= bytes;
    const deltas: ModelDelta[] = [];
    for (const event of this.#parser.push(bytes)) this.#take(event, deltas);
    return deltas;
  }

  /** The input has ended. Some servers send no finish reason, others no `[DONE]`; one of the two has to be there. */
  end(): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    const rest = this.#parser.end();
    if (this.done || this.error) return deltas;
    if (rest) this.#take(rest, deltas);
    if (this.#decoder.finished) this.#finish(deltas);
    if (!this.done) this.error = this.#reported() ?? this.#cutOff(rest?.data);
    return deltas;
  }

  /** The server's own error, as against one of ours over an event that is cut. */
  #reported(): AgentError | undefined {
    return this.error?.code === 'MODEL_BAD_RESPONSE' ? undefined : this.error;
  }

  #take({ event, data }: ServerSentEvent, deltas: ModelDelta[]): void {
    if (this.done || this.error || data === '') return;
    if (data.startsWith('[DONE]')) return this.#finish(deltas);
    this.#events++;
    try {
      const chunk: unknown = JSON.parse(data);
      this.error = errorOfChunk(chunk, event === 'error');
      if (!this.error) this.#decoder.decode(chunk, deltas);
    } catch {
      this.error = event === 'error' ? errorOfChunk({ message: data }, true) : badResponse('An event is malformed', data);
    }
  }

  #cutOff(rest: string | undefined): AgentError {
    if (rest !== undefined) return badResponse('The reply breaks off', rest, true);
    if (this.#events > 0) return badResponse('The reply breaks off', 'no finish reason, no [DONE]', true);
    return badResponse('The reply is no event stream', new TextDecoder().decode(this.#first));
  }

  #finish(deltas: ModelDelta[]): void {
    if (this.done) return;
    this.done = true;
    this.error = undefined;
    deltas.push(this.#decoder.end());
  }
}
