import { expect, test } from 'vitest';
import * as z from 'zod';
import { contextToken, provide } from '../tool/context-token.ts';
import { userMessage } from '../message/create-message.ts';
import { textOf } from '../message/message-text.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { Toolkit } from '../tool/toolkit.ts';
import type { AgentOptions } from './agent-options.ts';
import { ReActAgent } from './react-agent.ts';

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  return { model, agent: new ReActAgent({ name: 'a', model, ...options }) };
}

/** A reply that is given when the test says so. */
function gate(text: string) {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  return { open, reply: [{ wait }, { text }] as ScriptedReply };
}

test('reject: a call and a stream on a busy agent fail at once, and change nothing', async () => {
  const { open, reply } = gate('first');
  const { agent, model } = setUp([reply, 'later']);
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

test('queue: calls and streams run in the order they came; a failing one holds up nobody', async () => {
  const { open, reply } = gate('first');
  const { agent } = setUp([reply, { error: new Error('down') }, 'third', 'fourth'], { whenBusy: 'queue' });
  const ended: string[] = [];
  const note = (name: string) => (): void => void ended.push(name);
  const one = agent.call('1').finally(note('1'));
  const two = agent.call('2').finally(note('2'));
  const three = agent.stream('3', { detached: true });
  void three.result.finally(note('3'));
  const four = agent.call('4').finally(note('4'));
  open();
  await expect(two).rejects.toMatchObject({ code: 'INTERNAL' });
  expect([await one, await three.result, await four].map(({ text }) => text)).toEqual(['first', 'third', 'fourth']);
  expect(ended).toEqual(['1', '2', '3', '4']);
  expect((await agent.messages()).map(textOf)).toEqual(['1', 'first', '2', '3', 'third', '4', 'fourth']);
});

test('inject: the running call takes the messages in, and both get its result; a stream as well', async () => {
  const { open, reply } = gate('first');
  const { agent, model } = setUp([reply], { whenBusy: 'inject' });
  const one = agent.call('one');
  const two = agent.call('two');
  const three = agent.stream(userMessage('three')).result;
  open();
  const results = await Promise.all([one, two, three]);
  expect(new Set(results.map(({ message }) => message.id)).size).toBe(1);
  expect(results[0].text).toBe('first');
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([['one', 'two', 'three']]);
});

test('a thousand agents from one set of options share nothing', async () => {
  const User = contextToken<number>('user');
  const whoAmI = tool({
    name: 'who_am_i',
    description: '',
    input: z.object({}),
    group: 'own',
    execute: (_input, { get }) => `user ${get(User)}`,
  });
  const toolkit = new Toolkit([whoAmI], { groups: [{ name: 'own', description: '', active: false }] });
  const heard: string[] = [];
  const hooks = [{ on: { 'post-acting': (event: { sessionId: string }) => void heard.push(event.sessionId) } }];
  const agents = Array.from({ length: 1000 }, (_unused, index) => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'who_am_i' }] }, `answer ${index}`]);
    return new ReActAgent({ name: 'a', sessionId: `s${index}`, model, tools: toolkit, hooks, toolContext: [provide(User, index)] });
  });
  agents.forEach((agent, index) => index % 2 && (agent.tools as Toolkit).updateGroups(['own'], true));
  agents[7]!.addHook({ on: { 'post-acting': (event) => void heard.push(`${event.sessionId} again`) } });
  const runs = agents.map((agent) => agent.call('go'));
  agents[4]!.interrupt();
  const results = await Promise.all(runs);
  results.forEach((result, index) => expect(result).toMatchObject({ reason: index === 4 ? 'interrupted' : 'stop' }));
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
