import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endpointPlace } from '../memory/move/endpoint-place.ts';
import { keepAliveHeader, requestEndpoint } from './endpoint-request.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));
afterEach(() => void vi.restoreAllMocks());

const url = 'https://a.test/api/chat';
const timedOut = { code: 'ENDPOINT_TIMEOUT', retryable: true };

/** An endpoint that answers when the test says so. */
function endpoint(headers: Readonly<Record<string, string>> = {}) {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const cancelled = vi.fn();
  const body = new ReadableStream<Uint8Array>({
    start: (created) => void (controller = created),
    cancel: cancelled,
  });
  const send = (text: string): void => controller.enqueue(new TextEncoder().encode(text));
  const fetch = async (): Promise<Response> => new Response(body, { headers });
  return { fetch, send, cancelled };
}

/** Returns how `promise` has settled after `ms` milliseconds. */
async function after(promise: Promise<unknown>, ms: number): Promise<unknown> {
  let outcome: unknown = 'pending';
  promise.then(
    (value) => (outcome = value),
    (error: unknown) => (outcome = error),
  );
  await clock.advance(ms);
  return outcome;
}

test('an answer that does not begin in time fails, and its request is aborted', async () => {
  let signal: AbortSignal | null | undefined;
  const fetch = (_url: string, init: RequestInit): Promise<Response> => {
    ({ signal } = init);
    return new Promise(() => {});
  };
  const request = requestEndpoint({ url, init: {}, fetch });
  expect(await after(request, 19_999)).toBe('pending');
  expect(await after(request, 1)).toMatchObject(timedOut);
  expect(signal?.aborted).toBe(true);
});

test('a large request gets more time', async () => {
  const init = { method: 'POST', body: 'x'.repeat(500_000) };
  const request = requestEndpoint({ url, init, fetch: () => new Promise(() => {}) });
  expect(await after(request, 29_999)).toBe('pending');
  expect(await after(request, 1)).toMatchObject(timedOut);
});

test('each sign of life begins the time of a stream again', async () => {
  const { fetch, send, cancelled } = endpoint();
  const { body } = await requestEndpoint({ url, init: {}, fetch });
  const reader = body!.getReader();
  for (let reads = 0; reads < 3; reads += 1) {
    const read = reader.read();
    expect(await after(read, 37_000)).toBe('pending');
    send(': keep-alive\n\n');
    expect(await after(read, 0)).toMatchObject({ done: false });
  }
  const last = reader.read();
  expect(await after(last, 37_499)).toBe('pending');
  expect(await after(last, 1)).toMatchObject(timedOut);
  expect(cancelled).toHaveBeenCalledTimes(1);
  expect(clock.pendingTimers()).toBe(0);
});

test.each([
  ['the endpoint', { [keepAliveHeader]: '4000' }, undefined, 10_000],
  ['the option', { [keepAliveHeader]: '4000' }, 500, 500],
] as const)(
  '%s sets the time that a stream may be silent',
  async (_name, headers, silenceMs, ms) => {
    const { fetch } = endpoint(headers);
    const { body } = await requestEndpoint({ url, init: {}, fetch, silenceMs });
    const read = body!.getReader().read();
    expect(await after(read, ms - 1)).toBe('pending');
    expect(await after(read, 1)).toMatchObject(timedOut);
  },
);

test('an answer that nobody reads leaves no timer', async () => {
  const { fetch } = endpoint();
  await requestEndpoint({ url, init: {}, fetch });
  expect(clock.pendingTimers()).toBe(0);
});

test('an abort ends the connection of an answer that nobody reads', async () => {
  const { fetch, cancelled } = endpoint();
  const aborting = new AbortController();
  await requestEndpoint({ url, init: {}, fetch, signal: aborting.signal });
  aborting.abort();
  expect(cancelled).toHaveBeenCalledOnce();
});

test('a place takes asynchronous headers, and calls them for each request', async () => {
  const tokens: (string | null)[] = [];
  let calls = 0;
  const place = endpointPlace(url, {
    headers: async () => new Headers({ authorization: `Bearer ${(calls += 1)}` }),
    fetch: async (_url, init) => {
      tokens.push(new Headers(init.headers).get('authorization'));
      return new Response(null, { status: 204 });
    },
  });
  await place.read('s');
  await place.stop!('s');
  expect(tokens).toEqual(['Bearer 1', 'Bearer 2']);
});

test('a place without an answer rejects, and so does one whose headers fail', async () => {
  const silent = endpointPlace(url, { fetch: () => new Promise(() => {}) });
  expect(await after(silent.read('s'), 20_000)).toMatchObject(timedOut);
  const headers = (): never => {
    throw new Error('No session.');
  };
  await expect(endpointPlace(url, { headers }).read('s')).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: 'The function `headers` failed: No session.',
  });
});

test.for([204, 205, 304])(
  'an answer %s without content passes, also if the engine gives it an empty body',
  async (status) => {
    const answer = new Response(null, { status });
    // Chromium does this for answers of the network.
    Object.defineProperty(answer, 'body', { value: new ReadableStream() });
    const response = await requestEndpoint({ url, init: {}, fetch: async () => answer });
    expect(response.status).toBe(status);
  },
);
