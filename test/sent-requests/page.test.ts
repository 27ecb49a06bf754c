import { expect, onTestFinished, test } from 'vitest';
import { brokenId } from './bad-request.ts';
import { maySend } from './may-send.ts';
import { registry } from './registry.ts';

test('the check of requests sees the requests of a worker', async () => {
  maySend(brokenId, 'The test shows that the check sees it.');
  const worker = new Worker(new URL('./bad-worker.ts', import.meta.url), { type: 'module' });
  onTestFinished(() => worker.terminate());
  await expect.poll(() => registry().scope?.broken.map(({ id }) => id)).toEqual([brokenId]);
});
