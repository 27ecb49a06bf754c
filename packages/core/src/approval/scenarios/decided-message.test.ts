import { expect, test } from 'vitest';
import {
  AgentError,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  type Decision,
  type Memory,
  type Msg,
} from '@isoloop/core';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { makeWitness, MortalProcess } from '@test/faults/mortal-process.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

const approve: Decision = { toolUseId: 'c1', type: 'approve' };
const reject: Decision = { toolUseId: 'c1', type: 'reject' };
const pay = { name: 'pay', description: '', input: {}, needsApproval: true } as const;

function namesOf(messages: readonly Msg[]): readonly string[] {
  return messages.map((message) => `${message.role} ${textOf(message)}`.trim());
}

/** Creates a memory that returns the messages exactly as they were appended. */
function plainMemory(): Memory {
  let log: readonly Msg[] = [];
  return {
    append: async (messages) => void (log = [...log, ...messages]),
    read: async () => log,
    delete: async (ids) => void (log = log.filter(({ id }) => !ids.includes(id))),
    clear: async () => void (log = []),
  };
}

type Ending = (abort: () => void) => Promise<string>;

const endings: readonly (readonly [string, Ending])[] = [
  ['a timeout', () => new Promise(() => {})],
  [
    'a fatal tool error',
    () => {
      throw new AgentError('TOOL_ERROR', 'fatal');
    },
  ],
  ['an abort', (abort) => (abort(), new Promise(() => {}))],
];
const memories = [
  ['a session', () => new SessionMemory(new MemoryStore(), 's')],
  [
    'a session that writes at the end',
    () => new SessionMemory(new MemoryStore(), 's', { durability: 'turn' }),
  ],
  ['a memory in the order of the appends', plainMemory],
] as const;
const cases = endings.flatMap(([ending, end]) =>
  memories.map(([memory, make]) => [ending, memory, end, make] as const),
);

test.for(cases)(
  'after %s during a call with a decision and a message, %s keeps the message, and the next call answers',
  async ([ending, , end, make]) => {
    let isEnding = true;
    const controller = new AbortController();
    const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', id: 'c1' }] }, 'Tea.']);
    const execute = () => (isEnding ? end(() => controller.abort()) : 'paid');
    const agent = new ReActAgent({
      name: 'a',
      model,
      memory: make(),
      tools: [tool({ ...pay, execute })],
      limits: { ...(ending === 'a timeout' && { timeoutMs: 50 }) },
    });
    await agent.call('Go');
    const { signal } = controller;
    await agent.call('Tea?', { decisions: [approve], signal, throwOnError: false });
    expect(namesOf(await agent.messages())).toContain('user Tea?');
    isEnding = false;
    expect((await agent.call()).text).toBe('Tea.');
    const messages = await agent.messages();
    expect(namesOf(messages)).toEqual([
      'user Go',
      'assistant',
      'tool',
      'user Tea?',
      'assistant Tea.',
    ]);
    expect(historyFaults(messages)).toEqual([]);
    expect(model.requests.flatMap((request) => requestFaults(request.messages))).toEqual([]);
  },
);

test.for([
  ['approves', approve],
  ['rejects', reject],
] as const)(
  'if the host dies during a call that %s and sends a message, the log has both or neither',
  async ([, decision]) => {
    let deaths = 0;
    for (let dieAt = 0; ; dieAt += 1) {
      const store = new MemoryStore();
      const witness = makeWitness();
      const open = (process: MortalProcess): ReActAgent =>
        new ReActAgent({
          name: 'a',
          memory: process.memory('s'),
          tools: [process.tool({ ...pay, execute: () => 'paid' })],
          model: process.model(({ messages }) =>
            messages.some((message) => textOf(message) === 'Tea?')
              ? 'Tea.'
              : { toolCalls: [{ name: 'pay', id: 'c1' }] },
          ),
        });
      const first = new MortalProcess(store, witness, { generation: 0 });
      await open(first).call('Go');
      first.bury();

      const mortal = new MortalProcess(store, witness, { generation: 1, dieAt });
      const { signal } = mortal;
      const call = open(mortal).call('Tea?', { decisions: [decision], signal });
      const end = await Promise.race([call, mortal.death]);
      mortal.bury();
      if (end !== 'dead') break;
      deaths += 1;

      const last = new MortalProcess(store, witness, { generation: 2 });
      const memory = last.memory('s');
      const { calls, messages, endReason } = await memory.view();
      const isDecided = !calls.get('c1')?.pending;
      const isKept = messages.some((message) => textOf(message) === 'Tea?');
      expect(isKept, `death at ${dieAt}`).toBe(isDecided);
      if (!isKept || endReason === 'stop') continue;
      const agent = open(last);
      expect((await agent.call()).text).toBe('Tea.');
      const names = namesOf(await agent.messages());
      expect(names).toEqual(['user Go', 'assistant', 'tool', 'user Tea?', 'assistant Tea.']);
      expect(witness.faults, `death at ${dieAt}`).toEqual([]);
    }
    expect(deaths).toBeGreaterThan(10);
  },
);

test('if a hook fails after a rejection, the log has the message, and the next call answers', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'pay', id: 'c1' }] }, 'Tea.'], {
    memory,
    tools: [tool(pay)],
  });
  await agent.call('Go');
  const remove = agent.addHook({
    on: {
      'post-acting': () => {
        throw new Error('broken');
      },
    },
  });
  const call = agent.call('Tea?', { decisions: [reject] });
  await expect(call).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  remove();
  expect((await agent.call()).text).toBe('Tea.');
  const names = namesOf(await agent.messages());
  expect(names).toEqual(['user Go', 'assistant', 'tool', 'user Tea?', 'assistant Tea.']);
});
