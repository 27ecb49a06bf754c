import { expect, test } from 'vitest';
import { brokenId, sendBadRequest } from './bad-request.ts';
import { maySend } from './may-send.ts';
import { registry } from './registry.ts';

test('the check of requests sees the requests of this engine', async () => {
  maySend(brokenId, 'The test shows that the check sees it.');
  await sendBadRequest();
  expect(registry().scope?.broken.map(({ id }) => id)).toEqual([brokenId]);
});
