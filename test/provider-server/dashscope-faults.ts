import { openEventStream, write, writePieces } from './event-stream.ts';
import type { Exchange } from './exchange.ts';
import {
  dashScopeErrorEvent,
  dashScopeEvent,
  dashScopeEvents,
  sendDashScopeError,
  type Service,
} from './dashscope-wire.ts';

export interface DashScopeExchange extends Exchange {
  readonly service: Service;
}

const events = (service: Service): string[] =>
  dashScopeEvents(
    service,
    ['Hello', ', ', '世界', '.'].map((text) => ({ text })),
    'stop',
  );

/** Handlers of `/dashscope/NAME/api/v1`. Each handler shows one fault of a server. */
export const dashScopeFaults: Readonly<
  Record<string, (exchange: DashScopeExchange) => void | Promise<void>>
> = {
  '400': ({ response }) =>
    sendDashScopeError(response, 400, 'InvalidParameter', 'temperature should be in [0.0, 2.0)'),
  '401': ({ response }) =>
    sendDashScopeError(response, 401, 'InvalidApiKey', 'Invalid API-key provided.'),
  '429': ({ response }) =>
    sendDashScopeError(
      response,
      429,
      'Throttling.RateQuota',
      'Requests rate limit exceeded, please try again later.',
    ),
  '500': ({ response }) =>
    sendDashScopeError(
      response,
      500,
      'InternalError',
      'An internal error has occured, please try again later.',
    ),
  'input-length': ({ response }) =>
    sendDashScopeError(
      response,
      400,
      'InvalidParameter',
      'Range of input length should be [1, 30720]',
    ),

  /**
   * An error event under the HTTP status 200. The service sends it when the stream is already
   * open.
   */
  'event-parameter': (exchange) =>
    streamError(exchange, 400, 'InvalidParameter', 'Range of max_tokens should be [1, 8192]', 0),
  'event-input-length': (exchange) =>
    streamError(exchange, 400, 'InvalidParameter', 'Range of input length should be [1, 30720]', 0),
  'event-key': (exchange) =>
    streamError(exchange, 401, 'InvalidApiKey', 'Invalid API-key provided.', 0),
  'event-throttling': (exchange) =>
    streamError(exchange, 429, 'Throttling.AllocationQuota', 'Allocated quota exceeded.', 2),
  'event-inspection': (exchange) =>
    streamError(
      exchange,
      400,
      'DataInspectionFailed',
      'Output data may contain inappropriate content.',
      2,
    ),
  'event-timeout': (exchange) =>
    streamError(exchange, 500, 'RequestTimeOut', 'Request timed out, please try again later.', 2),
  'event-server': (exchange) =>
    streamError(exchange, 500, 'InternalError.Algo', 'inference internal error', 2),
  /** An error event without the event name `error`, then silence. */
  'unnamed-error': async ({ response, service }) => {
    openEventStream(response);
    const data = {
      code: 'InternalError',
      message: 'An internal error has occured.',
      request_id: 'r',
    };
    await writePieces(response, [...events(service).slice(0, 2), dashScopeEvent(3, data)]);
  },
  /** An error as the whole reply under the HTTP status 200. */
  'json-error': ({ response }) =>
    sendDashScopeError(response, 200, 'ModelNotFound', 'Model not exist.'),
  malformed: async ({ response, service }) => {
    openEventStream(response);
    await writePieces(response, [
      ...events(service).slice(0, 2),
      'id:3\nevent:result\n:HTTP_STATUS/200\ndata:{"output":{"choices":[{"mess\n\n',
    ]);
  },

  /** Two events, then silence. */
  'hang-mid': async ({ response, service }) => {
    openEventStream(response);
    await writePieces(response, events(service).slice(0, 2));
  },
  'cut-clean': async ({ response, service }) => {
    openEventStream(response);
    response.end(events(service).slice(0, 3).join('').slice(0, -30));
  },
  bytewise: async ({ response, service }) => {
    openEventStream(response);
    const bytes = new TextEncoder().encode(events(service).join(''));
    await writePieces(
      response,
      Array.from(bytes, (byte) => Uint8Array.of(byte)),
    );
    response.end();
  },
};

async function streamError(
  { response, service }: DashScopeExchange,
  status: number,
  code: string,
  message: string,
  after: number,
): Promise<void> {
  openEventStream(response);
  for (const event of events(service).slice(0, after)) await write(response, event);
  await write(response, dashScopeErrorEvent(after + 1, status, code, message));
  response.end();
}
