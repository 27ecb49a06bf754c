import { ReActAgent } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { deltasIn, eventsIn, gate, leave, open } from '../../test-support/session-client.ts';

test('a client that returns to a run gets only the events after the last event it has seen', async () => {
  const rest = gate();
  const words = 'one two three four';
  const session = open([[{ text: words }, { wait: rest.passed, text: ' five' }], 'Never.']);
  const seen = await leave(await session.run({ input: 'Count' }), 'four');
  const lastEventId = [...seen.matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
  const [run, seq] = lastEventId.split(':') as [string, string];
  const watch = (id?: string): Promise<Response> =>
    session.send(
      `/api/chat/${session.id}/stream?events=only`,
      id === undefined ? {} : { headers: { 'last-event-id': id } },
    );
  const again = [
    await session.run({ input: 'Count' }, { 'last-event-id': lastEventId }),
    await session.run({}, { 'last-event-id': `${run}:${Number(seq) - 1}` }),
    await watch(lastEventId),
    await watch(),
    await watch('other:3'),
  ];
  rest.open();
  const texts = await Promise.all(again.map((each) => each.text()));
  const whole = `${words} five`;
  expect(texts.map(deltasIn)).toEqual([
    ' five',
    expect.stringMatching(/ five$/),
    ' five',
    whole,
    whole,
  ]);
  for (const text of texts.slice(0, 3)) {
    const events = eventsIn(text);
    expect(events[0]!.seq).toBeGreaterThanOrEqual(Number(seq));
    expect([
      events[0]!.runId.slice(-8),
      events.at(-1)!.type,
      events.some(({ type }) => type === 'run-start'),
    ]).toEqual([run, 'run-end', false]);
    expect(text).not.toContain('"systemPrompt"');
  }
  await expect.poll(async () => (await watch(lastEventId)).status).toBe(204);
  expect((await session.run({ input: 'Count' }, { 'last-event-id': lastEventId })).status).toBe(
    204,
  );
  expect(session.script.model.requests.length).toBe(1);
});

test('a client can resume after an event of an agent that is called as a tool', async () => {
  const rest = gate();
  const child = new ReActAgent({
    name: 'helper',
    model: new ScriptedModel([[{ text: 'Helping ' }, { wait: rest.passed, text: 'you.' }]]),
  });
  const helper = agentTool(child, { description: 'Helps' });
  const session = open(
    [
      {
        text: 'I ask.',
        toolCalls: [{ name: helper.name, input: { task: 'x', message: 'x', input: 'x' } }],
      },
      'Done.',
    ],
    {
      tools: [helper],
    },
  );
  const seen = await leave(await session.run({ input: 'Help' }), 'Helping ');
  const lastEventId = [...seen.matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
  const own = eventsIn(seen)[0]!.runId;
  expect(lastEventId.split(':')[0]).toBe(own.slice(-8));
  const again = await session.run({}, { 'last-event-id': lastEventId });
  rest.open();
  const text = await again.text();
  expect(text).not.toContain('I ask.');
  expect(deltasIn(text)).toBe('you.Done.');
});
