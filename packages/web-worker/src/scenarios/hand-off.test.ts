import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { expect, onTestFinished, test } from 'vitest';
import type { TeamOptions } from '../../test-support/team-worker.ts';

function openTeam(sessionId: string, options: TeamOptions): RemoteAgent {
  const url = new URL('../../test-support/team-worker.ts', import.meta.url);
  const worker = new Worker(url, { type: 'module' });
  onTestFinished(() => worker.terminate());
  return connectAgent(worker, { sessionId, timeoutMs: 120_000, options });
}

test('after a hand-off in a worker, the next worker continues with the active agent, from the log', async () => {
  const sessionId = crypto.randomUUID();
  const first = openTeam(sessionId, {
    replies: [{ toolCalls: [{ name: 'transfer_to_billing', input: {} }] }, 'Invoice 7.'],
  });
  const { message } = await first.call('My invoice?');
  expect(message.name).toBe('billing');
  await first.close();
  const next = openTeam(sessionId, { replies: ['You are welcome.'] });
  const answer = await next.call('Thanks');
  expect([answer.text, answer.message.name]).toEqual(['You are welcome.', 'billing']);
  expect((await next.messages()).map(({ name, role }) => name ?? role)).toEqual([
    'user',
    'reception',
    'tool',
    'billing',
    'user',
    'billing',
  ]);
});
