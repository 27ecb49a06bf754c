import { expect, test } from 'vitest';
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
