import { AgentError } from '../../error/agent-error.ts';
import type { ModelDelta, ModelRequest } from '../chat-model.ts';
import type { HttpRequest } from '../http/http-request.ts';
import { streamReply } from '../http/http-transport.ts';
import { ResponsesDecoder } from './responses-decoder.ts';
import type { ResponsesFormatter, ResponsesRequest } from './responses-formatter.ts';

/** One request to the Responses API, and how to send it. */
export interface Exchange {
  readonly http: Omit<HttpRequest, 'body' | 'onRead'>;
  /** Host of the server. */
  readonly origin: string;
  readonly model: string;
  readonly formatter: ResponsesFormatter;
  readonly request: ModelRequest;
}

/** Sends a request and yields the deltas of the reply. */
export async function* streamResponse(
  exchange: Exchange,
): AsyncGenerator<readonly ModelDelta[], void> {
  const { http, origin, formatter, request } = exchange;
  yield* withWhole(
    (whole) => formatter.format(request, { whole }),
    ({ body, inputSum }) =>
      streamReply(() => ({ ...http, body }), new ResponsesDecoder({ origin, inputSum })),
  );
}

/**
 * Sends a request. Sends the whole conversation if the provider has deleted the response that the
 * request continues from.
 */
export async function* withWhole(
  format: (whole: boolean) => ResponsesRequest,
  send: (request: ResponsesRequest) => AsyncIterable<readonly ModelDelta[]>,
): AsyncGenerator<readonly ModelDelta[], void> {
  const first = format(false);
  try {
    yield* send(first);
  } catch (error) {
    // The provider refuses the id before the reply begins, so no delta is repeated.
    if (!first.continues || !isPreviousGone(error)) throw error;
    yield* send(format(true));
  }
  first.settle();
}

function isPreviousGone(error: unknown): boolean {
  if (!AgentError.is(error)) return false;
  return (
    error.details?.['providerCode'] === 'previous_response_not_found' ||
    (error.details?.['status'] === 404 && /previous.?response/i.test(error.message))
  );
}
