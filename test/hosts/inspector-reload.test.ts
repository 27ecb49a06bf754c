import { expect, onTestFinished, test, vi } from 'vitest';

const source = '../../packages/inspector/src/source';

test('if the code of the stored conversations cannot be loaded, the next use loads it', async () => {
  let loads = 0;
  vi.resetModules();
  vi.doMock(`${source}/stored-logs.ts`, () => ({
    storedLogs() {
      loads += 1;
      if (loads === 1) throw new TypeError('Failed to fetch dynamically imported module');
      return { sessions: async () => [] };
    },
  }));
  onTestFinished(() => {
    vi.doUnmock(`${source}/stored-logs.ts`);
    vi.resetModules();
  });
  const { workerSource } = await import('../../packages/inspector/src/source/worker-source.ts');
  const worker = { addEventListener() {} } as unknown as Worker;
  const conversations = workerSource(worker);
  await expect(conversations.sessions()).rejects.toThrow('Failed to fetch');
  const reads = [conversations.sessions(), conversations.sessions()];
  expect(await Promise.all(reads)).toEqual([[], []]);
  expect(loads).toBe(2);
});
