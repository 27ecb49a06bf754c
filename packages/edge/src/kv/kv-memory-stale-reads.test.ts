import { expect, test, vi } from 'vitest';
import { bindings, testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { KvMemory } from './kv-memory.ts';

/**
 * Creates an endpoint. After `freeze()`, its namespace returns the old value of each key that
 * exists at that time.
 */
function endpoint(
  replies: readonly string[],
): TestEndpoint & { readonly freeze: () => Promise<void> } {
  const frozen = new Map<string, string | null>();
  const show = async (key: string): Promise<string | null> =>
    frozen.has(key) ? frozen.get(key)! : bindings.CHAT_KV.get(key);
  const late = {
    get: async (keys: string | string[]) =>
      Array.isArray(keys)
        ? new Map(await Promise.all(keys.map(async (key) => [key, await show(key)] as const)))
        : show(keys),
    put: (key: string, value: string) => bindings.CHAT_KV.put(key, value),
  } as unknown as KVNamespace;
  const secrets = ['s'.repeat(32)];
  const target = testEndpoint(
    replies,
    {},
    {
      memory: ({ user, sessionId, echo, withoutEcho }) =>
        new KvMemory(late, `${user}/${sessionId}`, {
          secrets,
          withoutEcho,
          waitMs: 0,
          ...(echo !== undefined && { echo }),
        }),
    },
  );
  const freeze = async (): Promise<void> => {
    for (const { name } of (await bindings.CHAT_KV.list()).keys)
      frozen.set(name, await bindings.CHAT_KV.get(name));
  };
  return { ...target, freeze };
}

test('a request at a location with old data fails with SESSION_STALE and `retry-after`, and the model is not asked', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const target = endpoint(['One.', 'Two.', 'Never.']);
  const id = crypto.randomUUID();
  const header = { 'x-isoloop-session': id };
  const complete = (content: string, echo = ''): Promise<Response> =>
    target.post(
      '/v1/chat/completions',
      { model: 'offline', messages: [{ role: 'user', content }] },
      'ann',
      {
        ...header,
        ...(echo && { 'x-isoloop-echo': echo }),
      },
    );
  const first = (await complete('One?')).headers.get('x-isoloop-echo')!;
  await target.settled();
  await target.freeze();
  const second = (await complete('Two?', first)).headers.get('x-isoloop-echo')!;
  await target.settled();
  const echo = { 'x-isoloop-echo': second };
  const message = { role: 'user', parts: [{ type: 'text', text: 'Three?' }] };
  const refused = [
    await target.post('/api/chat', { id, messages: [message] }, 'ann', echo),
    await target.post('/api/run', { sessionId: id, input: 'Three?' }, 'ann', echo),
    await target.fetch(`/api/chat/${id}/messages`, {
      headers: { authorization: 'Bearer ann', ...echo },
    }),
    await complete('Three?', second),
  ];
  for (const response of refused) {
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { code: 'SESSION_STALE' } },
    ]);
    expect(response.headers.get('retry-after')).toBe('10');
  }
  expect(target.model.requests.length).toBe(2);
  log.mockRestore();
});
