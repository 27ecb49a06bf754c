import { tool } from '@isoloop/core';
import { expect, test, vi } from 'vitest';
import { testEndpoint } from '../../test-support/endpoint.ts';

const chat = { messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hello?' }] }] };
const completion = { stream: true, messages: [{ role: 'user', content: 'Hello?' }] };

test.each([
  ['/api/chat', { id: 'one-last-chunk', ...chat }, '"type":"finish"'],
  ['/api/run', { sessionId: 'one-last-event', input: 'Hello?' }, '"type":"run-end"'],
  ['/v1/chat/completions', { model: 'offline', ...completion }, '"finish_reason":"stop"'],
])('the end of the run and [DONE] of %s are one chunk', async (path, body, end) => {
  const response = await testEndpoint(['Hi.']).post(path, body);
  const chunks: string[] = [];
  for await (const bytes of response.body!) chunks.push(new TextDecoder().decode(bytes));
  expect(chunks.slice(0, -1).join('')).toContain('Hi.');
  expect(chunks.at(-1)).toContain(end);
  expect(chunks.at(-1)).toMatch(/\n\ndata: \[DONE\]\n\n$/);
});

test('a turn with limits of `Infinity` continues after its client has left, and no timer fires at once', async () => {
  const timers = ['setTimeout', 'setInterval'] as const;
  const spies = timers.map((name) => vi.spyOn(globalThis, name));
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    input: { type: 'object' },
    execute: () => gate.then(() => 'done'),
  });
  const limits = { afterDisconnectMs: Infinity, keepAliveMs: Infinity };
  const target = testEndpoint(
    [{ toolCalls: [{ name: 'wait' }] }, 'The end.'],
    { tools: [wait] },
    { limits },
  );
  const response = await target.post('/api/chat', { id: 'no-limits', ...chat });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  const times = spies.flatMap(({ mock }) => mock.calls.map(([, ms]) => ms ?? 0));
  expect(times.filter((ms) => ms > 1e9)).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  open();
  await target.settled();
  const stored = await (await target.get('/api/chat/no-limits/messages')).text();
  expect(stored).toContain('The end.');
  vi.restoreAllMocks();
});
