import { AgentError } from '../../error/agent-error.ts';
import type { ModelRequest, ReplyStream } from '../chat-model.ts';
import { streamReply, type HttpRequest } from '../http/http-transport.ts';
import { ResponsesDecoder } from './responses-decoder.ts';
import type { ResponsesFormatter, ResponsesRequest } from './responses-formatter.ts';

/** One request to the Responses API, and how to send it. */
export interface Exchange {
  readonly http: HttpRequest;
  /** Host of the server. */
  readonly origin: string;
  readonly model: string;
  readonly formatter: ResponsesFormatter;
  readonly request: ModelRequest;
}

/** Sends a request and yields the deltas of the reply. */
export function streamExchange(exchange: Exchange): ReplyStream {
  return sendRequest(exchange, false, ({ body, inputSum }) => {
    const decoder = new ResponsesDecoder(exchange.origin, inputSum);
    return streamReply(() => ({ ...exchange.http, body }), decoder);
  });
}

/**
 * Sends a request. Sends the whole conversation if the provider has deleted the response that the
 * request continues from. Sends it without the reasoning so far if the provider cannot decrypt
 * that.
 */
export async function* sendRequest(
  { formatter, request }: Exchange,
  background: boolean,
  send: (request: ResponsesRequest) => ReplyStream,
): ReplyStream {
  const firstRequest = formatter.format(request, { background });
  try {
    yield* send(firstRequest);
  } catch (error) {
    // The provider refuses both before the reply begins, so no delta is repeated.
    if (isUnreadable(error)) formatter.leaveOutReasoning(request.messages);
    else if (!firstRequest.isContinuation || !isPreviousGone(error)) throw error;
    yield* send(formatter.format(request, { isWhole: true, background }));
  }
  firstRequest.complete();
}

/**
 * Returns whether the provider cannot decrypt reasoning, such as that of another key or account.
 * Without a second try, the session would fail for ever:
 * https://github.com/openai/codex/issues/8119
 */
function isUnreadable(error: unknown): boolean {
  return AgentError.is(error) && error.details?.['providerCode'] === 'invalid_encrypted_content';
}

function isPreviousGone(error: unknown): boolean {
  if (!AgentError.is(error)) return false;
  return (
    error.details?.['providerCode'] === 'previous_response_not_found' ||
    (error.details?.['status'] === 404 && /previous.?response/i.test(error.message))
  );
}
