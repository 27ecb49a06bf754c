import { AgentError } from '../../error/agent-error.ts';
import { parseJson } from '../../message/json.ts';
import { baseUrlHint } from './base-url.ts';
import type { ReplyDecoder } from '../formatter/formatter.ts';
import type { HttpRequest } from './http-transport.ts';
import type { ModelDelta } from '../chat-model.ts';
import { badResponseError, errorOfChunk } from './provider-error.ts';
import { SseParser, type ServerSentEvent } from './sse-parser.ts';

/** Number of received bytes that count as one buffered character. */
const bytesPerBuffered = 64;

const unclearCalls = 'Fragments of the tool calls contradict each other, or one is missing';

/**
 * Reads a reply. The reply is a stream of server-sent events with one JSON chunk each, or one JSON
 * text from a server that does not stream.
 */
export class EventReply {
  readonly #parser = new SseParser();
  readonly #textDecoder = new TextDecoder();
  readonly decoder: ReplyDecoder;
  /** Text before the first event. If the reply has no event, this is the whole reply. */
  #head = '';
  #isEventStream = false;
  #receivedBytes = 0;
  /** Whether the reply is complete. Later events are ignored. */
  done = false;
  /** Error of the reply. Deltas that were returned before the error are valid. */
  error: AgentError | undefined;

  constructor(decoder: ReplyDecoder) {
    this.decoder = decoder;
  }

  /**
   * Characters that wait for their end, and a part of all received bytes. Hence endless events
   * without content reach the limit, too.
   */
  get bufferedLength(): number {
    const waitingLength =
      this.#parser.bufferedLength + this.#head.length + (this.decoder.bufferedLength ?? 0);
    return waitingLength + this.#receivedBytes / bytesPerBuffered;
  }

  push(bytes: Uint8Array): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    this.#receivedBytes += bytes.length;
    if (this.done) return deltas;
    for (const event of this.#parser.push(bytes)) this.#readEvent(event, deltas);
    if (!this.#isEventStream) this.#head += this.#textDecoder.decode(bytes, { stream: true });
    return deltas;
  }

  /**
   * Returns the last deltas at the end of the input. Some servers send no finish reason, and others
   * send no `[DONE]`. A reply without both is an error. The error about a reply that is no
   * event stream names the address of `request`.
   */
  end(request: Pick<HttpRequest, 'url' | 'api'>): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    const rest = this.#parser.end();
    if (this.done || this.error) return deltas;
    const isWholeReply = !rest && !this.#isEventStream;
    // A gateway that fails late closes the stream: https://github.com/preloop/preloop/pull/121
    const isEmpty = !/^[^:\s]/m.test(this.#head);
    const hint = `The reply is not an event stream${baseUrlHint(request)}`;
    const problem = isWholeReply
      ? badResponseError(hint, this.#head, isEmpty)
      : badResponseError(
          'The reply ended early',
          rest?.data ?? 'no finish reason, no [DONE]',
          true,
        );
    this.#readEvent(rest ?? { event: '', data: this.#head }, deltas, problem);
    if (this.done) return deltas;
    // After the finish reason, an incomplete event does not matter. In a reply without events, an
    // error means that the reply is invalid.
    if (isWholeReply && this.error) return [];
    if (this.decoder.finishReason || (isWholeReply && deltas.length)) this.#finish(deltas);
    else this.error ??= problem;
    return deltas;
  }

  #readEvent({ event, data }: ServerSentEvent, deltas: ModelDelta[], malformed?: AgentError): void {
    if (this.done || this.error || !data) return;
    this.#isEventStream = true;
    this.#head = '';
    if (data.startsWith('[DONE]')) return this.#finish(deltas);
    const problem = (): AgentError =>
      event === 'error'
        ? errorOfChunk({ message: data }, true)!
        : (malformed ?? badResponseError('An event is malformed', data));
    const chunk = parseJson(data);
    if (chunk === undefined) {
      this.error = problem();
      return;
    }
    try {
      const { errorOf = errorOfChunk } = this.decoder;
      this.error = errorOf(chunk, event === 'error');
      if (!this.error) this.decoder.decode(chunk, deltas);
    } catch (error) {
      this.error = failureOfDecoder(error, problem());
    }
  }

  #finish(deltas: ModelDelta[]): void {
    // Gateways send `[DONE]` after every stream, also after one without its last event.
    this.done = this.decoder.isComplete !== false;
    if (!this.done) {
      // A reply with a finish reason has ended, so its tool calls are the problem.
      const { finishReason } = this.decoder;
      this.error = finishReason
        ? badResponseError(unclearCalls, `finish reason "${finishReason}"`, true)
        : badResponseError('The reply ended early', '[DONE]', true);
      return;
    }
    try {
      this.decoder.flush?.(deltas);
      // The usage of a failed reply counts, too.
      deltas.push(this.decoder.end());
      this.error = this.decoder.failure;
    } catch (error) {
      this.error = failureOfDecoder(
        error,
        badResponseError('The reply could not be completed', '[DONE]'),
      );
    }
  }
}

/** Returns the error that a decoder threw, or else `problem` with what it threw as the cause. */
function failureOfDecoder(thrown: unknown, problem: AgentError): AgentError {
  if (AgentError.is(thrown)) return thrown;
  return new AgentError(problem.code, problem.message, { ...problem, cause: thrown });
}
