import { expect, test } from 'vitest';
import * as z from 'zod';
import { contextToken, provide, Toolkit } from '@isoloop/core/tool';
import { userMessage, textOf, tool, ReActAgent } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

/** Creates a reply that waits until the test opens it. */
function gate(text: string) {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  return { open, reply: [{ wait }, { text }] as ScriptedReply };
}

test('with `whenBusy: reject`, a call and a stream on a busy agent fail immediately and change nothing', async () => {
  const { open, reply } = gate('first');
  const { agent, model } = scriptedAgent([reply, 'later']);
  const running = agent.call('one');
  await expect(agent.call('two')).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  await expect(agent.stream('three').result).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  expect(agent.busy).toBe(true);
  open();
  expect((await running).text).toBe('first');
  expect(agent.busy).toBe(false);
  expect((await agent.messages()).map(textOf)).toEqual(['one', 'first']);
  expect((await agent.call('four')).text).toBe('later');
  model.assertDone();
});

test('with `throwOnError: false`, a call on a busy agent returns an error result and does not affect the running call', async () => {
  const { open, reply } = gate('first');
  const { agent } = scriptedAgent([reply]);
  const running = agent.call('one');
  const options = { throwOnError: false };
  const busy = {
    reason: 'error',
    error: { code: 'AGENT_BUSY' },
    text: '',
    usage: { inputTokens: 0, outputTokens: 0 },
  };
  expect(await agent.call('two', options)).toMatchObject(busy);
  expect(await agent.call('two', { ...options, signal: AbortSignal.abort() })).toMatchObject(busy);
  const types: string[] = [];
  const stream = agent.stream('three', options);
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual(['run-start', 'error', 'run-end']);
  expect(await stream.result).toMatchObject(busy);
  expect(agent.busy).toBe(true);
  open();
  expect((await running).text).toBe('first');
  expect((await agent.messages()).map(textOf)).toEqual(['one', 'first']);
});

test('with `whenBusy: queue`, calls and streams run in order of arrival, and a failing call blocks no other call', async () => {
  const { open, reply } = gate('first');
  const { agent } = scriptedAgent([reply, { error: new Error('down') }, 'third', 'fourth'], {
    whenBusy: 'queue',
  });
  const ended: string[] = [];
  const note = (name: string) => (): void => void ended.push(name);
  const one = agent.call('1').finally(note('1'));
  const two = agent.call('2').finally(note('2'));
  const three = agent.stream('3', { detached: true });
  void three.result.finally(note('3'));
  const four = agent.call('4').finally(note('4'));
  open();
  await expect(two).rejects.toMatchObject({ code: 'INTERNAL' });
  expect([await one, await three.result, await four].map(({ text }) => text)).toEqual([
    'first',
    'third',
    'fourth',
  ]);
  expect(ended).toEqual(['1', '2', '3', '4']);
  expect((await agent.messages()).map(textOf)).toEqual([
    '1',
    'first',
    '2',
    '3',
    'third',
    '4',
    'fourth',
  ]);
});

test('with `whenBusy: inject`, the running call gets the messages, and all calls and streams get its result', async () => {
  const { open, reply } = gate('first');
  const { agent, model } = scriptedAgent([reply], { whenBusy: 'inject' });
  const one = agent.call('one');
  const two = agent.call('two');
  const three = agent.stream(userMessage('three')).result;
  open();
  const results = await Promise.all([one, two, three]);
  expect(new Set(results.map(({ message }) => message.id)).size).toBe(1);
  expect(results[0].text).toBe('first');
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
    ['one', 'two', 'three'],
  ]);
});

test('with `whenBusy: inject`, decisions are queued, and injected messages do not affect the decisions', async () => {
  const { open, reply } = gate('first');
  const { agent, model } = scriptedAgent([reply, 'late'], { whenBusy: 'inject' });
  const one = agent.call('one');
  const decision = agent.call([{ type: 'approve', toolUseId: 'nobody' }], { throwOnError: false });
  const two = agent.call('two');
  const three = agent.stream('three', { detached: true }).result;
  open();
  expect(await decision).toMatchObject({ error: { code: 'INVALID_DECISION' } });
  expect(await two).toBe(await one);
  expect(await three).toBe(await one);
  expect((await agent.call('four')).text).toBe('late');
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['one', 'two', 'three']);
});

test('with `whenBusy: inject`, a failure of the running call fails all injected calls and keeps their messages', async () => {
  let fail!: () => void;
  const wait = new Promise<void>((resolve) => (fail = resolve));
  const { agent } = scriptedAgent([[{ wait }, { error: new Error('down') }], 'up again'], {
    whenBusy: 'inject',
  });
  const calls = [agent.call('one'), agent.call('two'), agent.stream('three').result];
  fail();
  for (const one of await Promise.allSettled(calls))
    expect(one).toMatchObject({ status: 'rejected', reason: { message: 'down' } });
  expect((await agent.messages()).map(textOf)).toEqual(['one', 'two', 'three']);
  expect((await agent.call()).text).toBe('up again');
});

test('with `whenBusy: queue`, aborting a queued call at any moment does not change the order of the others', async () => {
  for (let moment = 0; moment < 150; moment += 1) {
    const [first, second] = [gate('first'), gate('second')];
    const { agent, model } = scriptedAgent([first.reply, second.reply, 'last'], {
      whenBusy: 'queue',
    });
    const controller = new AbortController();
    const one = agent.call('1');
    const two = agent.call('2');
    const left = agent.call('3', { signal: controller.signal });
    first.open();
    for (let tick = 0; tick < moment; tick += 1) await Promise.resolve();
    controller.abort();
    expect([(await left).reason, (await one).text]).toEqual(['aborted', 'first']);
    expect(agent.busy, `at ${moment}`).toBe(true);
    const last = agent.call('4');
    second.open();
    expect([(await two).text, (await last).text]).toEqual(['second', 'last']);
    expect(model.requests.map(({ messages }) => textOf(messages.at(-1)!))).toEqual(['1', '2', '4']);
    expect(agent.busy).toBe(false);
  }
});

test('with `whenBusy: queue`, a stream enters the queue with its first read', async () => {
  const { agent, model } = scriptedAgent(['a', 'b'], { whenBusy: 'queue' });
  const unread = agent.stream('unread');
  const first = await agent.call('first');
  expect([first.text, (await unread.result).text]).toEqual(['a', 'b']);
  expect(model.requests.map(({ messages }) => textOf(messages.at(-1)!))).toEqual([
    'first',
    'unread',
  ]);
});

test('a thousand agents created from the same options share no state', async () => {
  const User = contextToken<number>('user');
  const whoAmI = tool({
    name: 'who_am_i',
    description: '',
    input: z.object({}),
    group: 'own',
    execute: (_input, { get }) => `user ${get(User)}`,
  });
  const toolkit = new Toolkit([whoAmI], {
    groups: [{ name: 'own', description: '', active: false }],
  });
  const heard: string[] = [];
  const hooks = [
    { on: { 'post-acting': (event: { sessionId: string }) => void heard.push(event.sessionId) } },
  ];
  const agents = Array.from({ length: 1000 }, (_unused, index) => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'who_am_i' }] }, `answer ${index}`]);
    return new ReActAgent({
      name: 'a',
      sessionId: `s${index}`,
      model,
      tools: toolkit,
      use: [...hooks],
      toolContext: [provide(User, index)],
    });
  });
  agents.forEach(
    (agent, index) => index % 2 && (agent.tools as Toolkit).updateGroups(['own'], true),
  );
  agents[7]!.addHook({
    on: { 'post-acting': (event) => void heard.push(`${event.sessionId} again`) },
  });
  const runs = agents.map((agent) => agent.call('go'));
  agents[4]!.interrupt();
  const results = await Promise.all(runs);
  results.forEach((result, index) =>
    expect(result).toMatchObject({ reason: index === 4 ? 'interrupted' : 'stop' }),
  );
  expect(results[6]!.text).toBe('answer 6');
  for (const [index, agent] of agents.entries()) {
    if (index === 4) continue;
    const result = JSON.stringify(await agent.messages());
    expect(result).toContain(index % 2 ? `"user ${index}"` : 'Tool not available');
  }
  expect(heard.filter((id) => id.endsWith('again'))).toEqual(['s7 again']);
  expect(heard).toHaveLength(1000);
  expect(toolkit.activeGroups()).toEqual([]);
  expect(agents.filter(({ status }) => status.interrupted)).toEqual([agents[4]]);
});

test('`observe()` during a call writes nothing into its turn', async () => {
  const refusing = gate('first');
  const busy = scriptedAgent([refusing.reply]).agent;
  const running = busy.call('one');
  await expect(busy.observe('by the way')).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  refusing.open();
  await running;
  expect((await busy.messages()).map(textOf)).toEqual(['one', 'first']);

  const { open, reply } = gate('first');
  const { agent } = scriptedAgent([reply], { whenBusy: 'queue' });
  const call = agent.call('one');
  const observed = agent.observe('by the way');
  open();
  await Promise.all([call, observed]);
  expect((await agent.messages()).map(textOf)).toEqual(['one', 'first', 'by the way']);
});

test('two `observe()` at once check their ids one after the other', async () => {
  const { agent } = scriptedAgent([], { whenBusy: 'queue' });
  const message = userMessage('once');
  const both = [agent.observe(message), agent.observe(message)];
  expect(agent.busy).toBe(true);
  const ends = await Promise.allSettled(both);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect((await agent.messages()).length).toBe(1);
  expect(agent.busy).toBe(false);
});

test('an agent call waits for `observe()`, and its model reads what that added', async () => {
  const { agent, model } = scriptedAgent(['one'], { whenBusy: 'queue' });
  const observed = agent.observe('by the way');
  const call = agent.call('go');
  await Promise.all([observed, call]);
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['by the way', 'go']);
});
