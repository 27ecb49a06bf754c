import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';
import { textChecksum } from '../../message/text.ts';
import { abortable } from '../../wait/abort.ts';
import { sleepFor } from '../../wait/timer.ts';
import type { ReplySlot, ReplyStream } from '../chat-model.ts';
import { streamReply } from '../http/http-transport.ts';
import { ResponsesDecoder } from './responses-decoder.ts';
import { sendRequest, type Exchange } from './stream-exchange.ts';

interface BackgroundExchange extends Exchange {
  readonly replySlot: ReplySlot;
}

/** Attempts to continue after a broken connection, without a new event in between. */
const maxAttempts = 5;

/** Time that the store gets to say whether another process has taken the reply, in milliseconds. */
const storePatienceMs = 250;

/**
 * Streams a reply that the provider writes in the background. Stores the id of the response before
 * the first delta. If another process has stored an id for this request, reads that reply. If the
 * caller ends the stream before the end of the reply, cancels the reply.
 */
export async function* streamInBackground(exchange: BackgroundExchange): ReplyStream {
  const reply = new BackgroundReply(exchange);
  try {
    yield* reply.stream();
  } catch (error) {
    reply.failed = error;
    throw error;
  } finally {
    // Not awaited: neither an abort nor an error waits for the provider.
    if (!reply.isComplete) void reply.cancel();
  }
}

/** A reply that the provider writes in the background. */
class BackgroundReply {
  readonly #exchange: BackgroundExchange;
  /** Checksum of the request, so that no other request of the step continues its reply. */
  readonly #sum: number;
  #decoder: ResponsesDecoder;
  /** Id of the response, once it is stored. */
  #stored: string | undefined;
  /** Id of a stored response that this one replaces. */
  #replaced: string | undefined;
  failed: unknown;

  constructor(exchange: BackgroundExchange) {
    const { formatter, request, origin } = exchange;
    const { lastItem, inputSum } = formatter.format(request, { isWhole: true });
    this.#exchange = exchange;
    this.#sum = textChecksum(`${request.messages.length} ${lastItem}`);
    this.#decoder = new ResponsesDecoder(origin, inputSum);
  }

  get isComplete(): boolean {
    return this.#decoder.isComplete;
  }

  /** Begins a reply, or reads the one that an earlier process began. */
  async *stream(): ReplyStream {
    const id = await this.#findStored();
    try {
      yield* id === undefined ? this.#begin() : this.#follow(this.#read(id));
    } catch (error) {
      // The provider may delete a reply before its end.
      if (this.#stored === undefined || !isGone(error)) throw error;
      yield [{ type: 'reset', reason: 'expired' }];
      yield* this.#begin();
    }
  }

  /** Returns the id of the reply that an earlier process began. */
  async #findStored(): Promise<string | undefined> {
    const { replySlot, origin, model } = this.#exchange;
    const { state = {}, isCurrent } = (await replySlot.load()) ?? {};
    const { id } = state;
    if (typeof id !== 'string' || state['origin'] !== origin) return undefined;
    if (!isCurrent) void this.#stop(id);
    else if (state['model'] === model && state['sum'] === this.#sum) {
      this.#decoder.id = id;
      this.#stored = id;
    } else {
      // The request has changed. If this model fails, `fallback()` may still ask the reply's model.
      this.#replaced = id;
    }
    return this.#stored;
  }

  async *#begin(): ReplyStream {
    const { http, origin } = this.#exchange;
    yield* sendRequest(this.#exchange, true, ({ body, inputSum }) => {
      this.#decoder = new ResponsesDecoder(origin, inputSum);
      this.#stored = undefined;
      return this.#follow(streamReply(() => ({ ...http, body }), this.#decoder));
    });
  }

  /** Tells the provider to stop, unless another process continues to read the reply. */
  async cancel(): Promise<void> {
    const { replySlot } = this.#exchange;
    const { id } = this.#decoder;
    if (id === undefined) return;
    const isTaken = (error: unknown): boolean =>
      AgentError.is(error) && error.code === 'SESSION_CONFLICT';
    if (isTaken(this.failed)) return;
    const clearing = replySlot.clear().then(() => false, isTaken);
    // A store that hangs must not keep the provider writing.
    const waited = sleepFor(storePatienceMs).then(() => false);
    if (!(await Promise.race([clearing, waited]))) await this.#stop(id);
  }

  async #stop(id: string): Promise<void> {
    const { url, headers, fetch: send = fetch } = this.#exchange.http;
    const request = { method: 'POST', headers, redirect: 'manual' } as const;
    try {
      const response = await send(`${url}/${encodeURIComponent(id)}/cancel`, request);
      await response.body?.cancel();
    } catch {
      // The provider may have ended the reply, or may be out of reach. The caller has left.
    }
  }

  /** Yields the deltas. Continues the reply after a broken connection. */
  async *#follow(firstStream: ReplyStream): ReplyStream {
    const { signal } = this.#exchange.http;
    let stream = firstStream;
    for (let attempt = 1; ; attempt++) {
      const startSequence = this.#decoder.sequence;
      try {
        for await (const deltas of stream) {
          if (this.#stored === undefined) await abortable(this.#store(), signal);
          yield deltas;
        }
        return;
      } catch (error) {
        if (this.#decoder.sequence > startSequence) attempt = 1;
        const id = this.#stored;
        const hasEnded = signal.aborted || this.#decoder.isComplete;
        const isOver = hasEnded || !isBroken(error) || attempt >= maxAttempts;
        // Without event numbers, the provider would send the whole reply again.
        if (id === undefined || isOver || !this.#decoder.isNumbered) throw error;
        await sleepFor(100 * 2 ** attempt, signal);
        stream = this.#read(id);
      }
    }
  }

  /** Reads the rest of the reply. */
  #read(id: string): ReplyStream {
    const { http } = this.#exchange;
    this.#decoder.resume();
    const query = `stream=true&starting_after=${this.#decoder.sequence}`;
    const url = `${http.url}/${encodeURIComponent(id)}?${query}`;
    return streamReply(() => ({ ...http, url }), this.#decoder);
  }

  /** Stores the id of the response as soon as it is known. */
  async #store(): Promise<void> {
    const { id } = this.#decoder;
    if (id === undefined) return;
    const { replySlot, origin, model } = this.#exchange;
    await replySlot.save({ id, origin, model, sum: this.#sum });
    this.#stored = id;
    if (this.#replaced !== undefined) void this.#stop(this.#replaced);
    this.#replaced = undefined;
  }
}

/** Codes of errors after which the provider may still be writing the reply. */
const brokenCodes: readonly AgentErrorCode[] = [
  'MODEL_UNREACHABLE',
  'MODEL_BAD_RESPONSE',
  'MODEL_RATE_LIMITED',
];

/** Returns whether the connection ended before the reply did. */
function isBroken(error: unknown): boolean {
  if (!AgentError.is(error) || !error.retryable) return false;
  const { code, details } = error;
  if (code === 'MODEL_SERVER') return details?.['status'] !== undefined;
  return brokenCodes.includes(code);
}

/** Returns whether the provider has deleted or canceled the response. */
function isGone(error: unknown): boolean {
  if (!AgentError.is(error)) return false;
  const { code, details } = error;
  const isRefused = code === 'MODEL_REQUEST' && details?.['status'] !== undefined;
  return isRefused || details?.['providerCode'] === 'response_cancelled';
}
