import { runDurableObjectAlarm } from 'cloudflare:test';
import { openaiResponses } from '@isoloop/core/responses';
import { expect, test } from 'vitest';
import { BackgroundProvider, lookTool } from '@test/provider-server/background-provider.ts';
import { ask, leaveAt, open, read, textOf } from '../../test-support/session-client.ts';
import { killObjects } from '../../test-support/kill-objects.ts';

test('a Durable Object that was aborted continues an unfinished background reply instead of asking again', async () => {
  const provider = new BackgroundProvider();
  const model = openaiResponses({ model: 'gpt-5.4', background: true, fetch: provider.fetch });
  const { look, runs } = lookTool();
  const session = open([], { model, tools: [look] });
  // The provider's second reply is the answer. Its stream hangs after four events.
  provider.holdAnswer = 4;
  await leaveAt(session, ask('Where?'), 'It is');
  await killObjects();
  provider.holdAnswer = Infinity;
  expect(await runDurableObjectAlarm(session.stub)).toBe(true);
  const stream = await session.transport.reconnectToStream({ chatId: session.id });
  if (stream) expect(textOf(await read(stream))).toContain(provider.answer);
  await expect
    .poll(async () => (await session.messages()).map(textOf).at(-1))
    .toContain(provider.answer);
  expect(provider.generations).toHaveLength(2);
  expect(provider.resumed).toEqual(['resp_2 after 0']);
  expect(runs()).toBe(1);
  expect(provider.generations.map(({ cancelled }) => cancelled)).toEqual([false, false]);
});
