import { expect, test, vi } from 'vitest';
import { InMemoryMemory, MemoryStore } from '@isoloop/core';
import { kvEndpoint } from '../../test-support/moves.ts';
import { codeOf } from '../../test-support/session-client.ts';
import { storeSessions } from '../store/index.ts';

test('a conversation moves only to where the endpoint keeps its conversations', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const read = async (options: Parameters<typeof kvEndpoint>[2]): Promise<unknown> =>
    codeOf(await kvEndpoint([], [], options).get('/api/chat/a'));
  expect(await read({ kv: undefined as never })).toEqual([500, 'CONFIGURATION']);
  const refused = [501, 'NEEDS_DURABLE_OBJECT'];
  expect(await read({ memory: () => new InMemoryMemory() })).toEqual(refused);
  expect(await read({ store: storeSessions(new MemoryStore()) })).toEqual(refused);
  log.mockRestore();
});
