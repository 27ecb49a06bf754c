import { expect, onTestFinished, test, vi } from 'vitest';
import { workerSource } from './worker-source.ts';

test('if the code of the stored conversations cannot be loaded, the next use loads it', async () => {
  let loads = 0;
  vi.doMock('./stored-logs.ts', () => ({
    storedLogs() {
      loads += 1;
      if (loads === 1) throw new TypeError('Failed to fetch dynamically imported module');
      return { sessions: async () => [] };
    },
  }));
  onTestFinished(() => vi.doUnmock('./stored-logs.ts'));
  const worker = { addEventListener() {} } as unknown as Worker;
  const source = workerSource(worker);
  await expect(source.sessions()).rejects.toThrow('Failed to fetch');
  expect(await Promise.all([source.sessions(), source.sessions()])).toEqual([[], []]);
  expect(loads).toBe(2);
});
