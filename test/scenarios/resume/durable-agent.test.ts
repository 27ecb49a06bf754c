import { expect, test } from 'vitest';
import { MemoryStore, textOf, listSessions, SessionMemory, tool, ReActAgent } from '@isoloop/core';
import { historyFaults } from '../../support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { metaTool, Toolkit } from '@isoloop/core/tool';
import { loadState, saveState, appendKey, replaceKey, stateKeys } from '@isoloop/core/state';

/** Opens the agent of the stored session `s`, as a new process would. */
function open(
  store: MemoryStore,
  replies: readonly ScriptedReply[],
  durability: 'step' | 'turn' = 'step',
) {
  const keys = stateKeys(
    { notes: appendKey<string>(), title: replaceKey('') },
    { outputKey: 'title' },
  );
  const ran: string[] = [];
  const pay = tool({
    name: 'pay',
    description: '',
    input: {},
    needsApproval: true,
    execute: () => `paid ${ran.push('pay')}`,
  });
  const ask = tool({ name: 'ask', description: '', input: {} });
  const note = tool({
    name: 'note',
    description: '',
    input: {},
    execute: (_, context) => {
      keys.of(context).write({ notes: ['noted'] });
      return `noted ${ran.push('note')}`;
    },
  });
  const search = tool({
    name: 'search',
    description: '',
    group: 'web',
    input: {},
    execute: () => 'found',
  });
  const toolkit = new Toolkit([pay, ask, note, search, metaTool()], {
    groups: [{ name: 'web', description: 'The web.', active: false }],
  });
  const model = new ScriptedModel(replies);
  const memory = new SessionMemory(store, 's', { durability });
  const agent = new ReActAgent({
    name: 'a',
    sessionId: 's',
    model,
    memory,
    tools: toolkit,
    use: [keys],
  });
  return { agent, model, ran, memory, state: keys.of(agent) };
}

const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name, id: `id of ${name}`, input: {} })),
});

test.for(['step', 'turn'] as const)(
  'with durability %s, the next process has the state values, active groups and open tool calls',
  async (durability) => {
    const store = new MemoryStore();
    const first = open(
      store,
      [{ toolCalls: [{ name: 'note', id: 'n1', input: {} }] }, calls('pay', 'ask')],
      durability,
    );
    first.state.write({ notes: ['before the first call'] });
    first.agent.tools.setActiveGroups?.(['web']);
    expect((await first.agent.call('Go.')).reason).toBe('suspended');

    const second = open(store, ['Done.'], durability);
    second.state.write({ title: 'given before it was read' });
    expect((await second.agent.call()).pending.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'pay approval',
      'ask external',
    ]);
    expect(second.state.read('notes')).toEqual(['before the first call', 'noted']);
    expect(second.state.read('title')).toBe('given before it was read');
    expect(second.agent.tools.activeGroups?.()).toEqual(['web']);
    const decided = await second.agent.call([
      { toolUseId: 'id of pay', type: 'approve' },
      { toolUseId: 'id of ask', type: 'result', output: 'told' },
    ]);
    expect(decided.text).toBe('Done.');
    expect(second.ran).toEqual(['pay']);

    const third = open(store, ['Bye.'], durability);
    await third.agent.call('And?');
    expect(third.state.read('notes')).toEqual(['before the first call', 'noted']);
    expect(third.state.read('title')).toBe('Bye.');
    expect((await open(store, [], durability).memory.view()).state['values']).toMatchObject({
      title: 'Bye.',
    });
    expect(await listSessions(store)).toEqual([
      expect.not.objectContaining({ title: expect.anything() }),
    ]);
  },
);

test('state values that an agent wrote between two calls survive a call of another process', async () => {
  const store = new MemoryStore();
  const one = open(store, ['1', '3']);
  await one.agent.call('Go.');
  one.state.write({ notes: ['between'] });
  const two = open(store, ['2']);
  await two.agent.call('Go on.');
  expect(two.state.read('notes')).toEqual([]);
  await one.agent.call('Go on.');
  expect(one.state.read('notes')).toEqual(['between']);
  const after = open(store, ['4']);
  await after.agent.call('Go on.');
  expect(after.state.read('notes')).toEqual(['between']);
});

test('a session with open tool calls and approvals moves to another store and back', async () => {
  const browser = new MemoryStore();
  const edge = new MemoryStore();
  const first = open(browser, [calls('note', 'pay', 'ask')]);
  await first.agent.call('Go.');
  const exported: unknown = JSON.parse(JSON.stringify(await saveState(first.agent)));

  await loadState(open(edge, []).agent, exported);
  // This process has only the log.
  const second = open(edge, [calls('search')], 'turn');
  expect(
    (await second.agent.call([{ toolUseId: 'id of pay', type: 'approve' }])).pending.map(
      ({ name }) => name,
    ),
  ).toEqual(['ask']);
  second.agent.tools.setActiveGroups?.(['web']);
  expect(second.ran).toEqual(['pay']);
  expect(second.state.read('notes')).toEqual(['noted']);
  const back: unknown = JSON.parse(JSON.stringify(await saveState(second.agent)));

  await loadState(open(browser, []).agent, back);
  const third = open(browser, ['Done.']);
  expect((await third.agent.call()).pending.map(({ name }) => name)).toEqual(['ask']);
  expect(third.agent.tools.activeGroups?.()).toEqual(['web']);
  expect(
    (await third.agent.call([{ toolUseId: 'id of ask', type: 'result', output: 'told' }])).text,
  ).toBe('Done.');
  expect(third.ran).toEqual([]);
  expect(historyFaults(await third.agent.messages())).toEqual([]);
});

test('a state that cannot be loaded leaves the log unchanged', async () => {
  const store = new MemoryStore();
  const first = open(store, [calls('pay')]);
  await first.agent.call('Go.');
  await expect(loadState(first.agent, { version: 99 })).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
  const second = open(store, ['Done.']);
  expect((await second.agent.call()).pending).toHaveLength(1);
});

test('an agent reads the messages that another agent added to the session', async () => {
  const store = new MemoryStore();
  const one = open(store, ['One.', 'Three.']);
  const two = open(store, ['Two.']);
  await one.agent.call('First.');
  await two.agent.call('Second.');
  await one.agent.call('Third.');
  expect((await one.memory.read()).map(textOf)).toEqual([
    'First.',
    'One.',
    'Second.',
    'Two.',
    'Third.',
    'Three.',
  ]);
  expect(one.model.requests.at(-1)?.messages.map(textOf)).toEqual([
    'First.',
    'One.',
    'Second.',
    'Two.',
    'Third.',
  ]);
});
