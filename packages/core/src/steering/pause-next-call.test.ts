import type { Middleware } from '../agent/middleware.ts';
import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { textOf } from '../message/msg.ts';
import { springAiAlibaba } from '@isoloop/presets';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { pay } from '@test/support/plain-tools.ts';
import { pauseNextCall } from './pause-next-call.ts';

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const use = options.use ?? [springAiAlibaba()];
  const agent = new ReActAgent({ name: 'a', model, tools: [pay], ...options, use });
  return { agent, model };
}

test('a pause of an idle agent suspends only the next call, before its first model request', async () => {
  const { agent, model } = setUp(['Done.', 'Again.']);
  expect(agent.interrupt({ mode: 'pause' })).toBe(true);
  expect(agent.interrupt({ mode: 'pause' })).toBe(true);
  const stream = agent.stream('go');
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  expect(await stream.result).toMatchObject({ reason: 'suspended', pending: [] });
  expect(model.requests).toEqual([]);
  expect((await agent.messages()).map(textOf)).toEqual(['go']);
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect((await agent.call('again')).text).toBe('Again.');
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a pause after a call pauses the next call', async () => {
  const { agent } = setUp(['Done.', 'Again.']);
  await agent.call('go');
  expect(agent.interrupt({ mode: 'pause' })).toBe(true);
  expect((await agent.call('again')).reason).toBe('suspended');
  expect((await agent.call()).text).toBe('Again.');
});

test('tools with a decision run before the pause takes effect', async () => {
  const { agent, model } = setUp([{ toolCalls: [{ name: 'pay', id: 'one' }] }, 'Done.']);
  await agent.call('go');
  agent.interrupt({ mode: 'pause' });
  const paused = await agent.call([{ toolUseId: 'one', type: 'approve' }]);
  expect(paused).toMatchObject({ reason: 'suspended', pending: [] });
  expect((await agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect((await agent.call()).text).toBe('Done.');
  expect(model.requests).toHaveLength(2);
});

test('if a call fails before its first model request, the pause applies to the next call', async () => {
  let bad = true;
  const failing: Middleware = {
    wrapInput: (input, next) => {
      if (bad) throw new Error('down');
      return next(input);
    },
  };
  const { agent } = setUp(['Done.'], { use: [springAiAlibaba(), failing] });
  agent.interrupt({ mode: 'pause' });
  await expect(agent.call('go')).rejects.toThrow('down');
  bad = false;
  await agent.call('go', { signal: AbortSignal.abort() });
  expect((await agent.call('go')).reason).toBe('suspended');
  expect((await agent.call()).text).toBe('Done.');
});

test('loadState() discards the pause of the earlier conversation', async () => {
  const [one, other] = [setUp(['One.', 'Two.']), setUp([])];
  const saved = await saveState(other.agent);
  one.agent.interrupt({ mode: 'pause' });
  await loadState(one.agent, saved);
  expect((await one.agent.call('go')).text).toBe('One.');
  expect(one.agent.interrupt({ mode: 'pause' })).toBe(true);
  expect((await one.agent.call('go')).reason).toBe('suspended');
});

test('a pause during a call applies to this call', async () => {
  const { agent } = setUp(['Done now.', 'Done.', 'Next.']);
  const stream = agent.stream('go');
  for await (const event of stream)
    if (event.type === 'reasoning-chunk') agent.interrupt({ mode: 'pause' });
  expect((await stream.result).reason).toBe('suspended');
  expect((await agent.call()).reason).toBe('stop');
  expect((await agent.call('next')).text).toBe('Next.');
});

test('agents with the same preset do not share the pause', async () => {
  const use = [springAiAlibaba()];
  const [one, other] = [setUp(['One.'], { use }), setUp(['Other.'], { use })];
  one.agent.interrupt({ mode: 'pause' });
  expect((await other.agent.call('go')).text).toBe('Other.');
  expect((await one.agent.call('go')).reason).toBe('suspended');
});

test('an idle agent ignores other interrupts, and without `pauseNextCall` it ignores a pause too', async () => {
  const { agent } = setUp(['Done.']);
  expect(agent.interrupt()).toBe(false);
  expect(agent.interrupt('stop')).toBe(false);
  expect(agent.interrupt({ mode: 'inject', messages: 'x' })).toBe(false);
  expect((await agent.call('go')).text).toBe('Done.');
  for (const options of [{ use: [] }, { interruptWhenIdle: () => false }]) {
    const plain = setUp(['Done.'], options).agent;
    expect(plain.interrupt({ mode: 'pause' })).toBe(false);
    expect((await plain.call('go')).text).toBe('Done.');
  }
  const asked = setUp(['Done.'], { use: [], interruptWhenIdle: pauseNextCall }).agent;
  expect(asked.interrupt({ mode: 'pause' })).toBe(true);
  expect((await asked.call('go')).reason).toBe('suspended');
  expect(() => setUp([], { interruptWhenIdle: true as never })).toThrow('interruptWhenIdle');
});
