import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SessionMemory } from '../session-memory.ts';
import { userMessage } from '../../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { makeWitness, MortalProcess } from '@test/faults/mortal-process.ts';

/** Runs two turns with tools in one process. */
async function converse(process: MortalProcess, durability: 'step' | 'turn'): Promise<void> {
  const agent = new ReActAgent({
    name: 'a',
    sessionId: 's',
    memory: process.memory('s', { durability }),
    tools: [process.tool({ name: 'step', description: '', input: {}, execute: () => 'done' })],
    model: process.model(({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'user').length;
      return messages.at(-1)?.role === 'tool'
        ? `Done ${turn}.`
        : {
            toolCalls: [
              { name: 'step', id: `${turn}a` },
              { name: 'step', id: `${turn}b` },
            ],
          };
    }),
  });
  const { signal } = process;
  for (const turn of [1, 2]) {
    await agent.call(userMessage(`Go ${turn}.`, { id: `turn ${turn}` }), { signal });
    await process.point(`turn ${turn} is over`);
  }
}

/** Returns the stored conversation for each point at which a process can die. */
async function remains(durability: 'step' | 'turn') {
  const whole = new MortalProcess(new MemoryStore(), makeWitness(), { generation: 0 });
  await converse(whole, durability);
  return Promise.all(
    whole.points.map(async (point, dieAt) => {
      const store = new MemoryStore();
      const process = new MortalProcess(store, makeWitness(), { generation: 0, dieAt });
      await Promise.race([converse(process, durability), process.death]);
      process.bury();
      const memory = new SessionMemory(store, 's');
      return {
        point,
        dieAt,
        messages: await memory.read(),
        view: await memory.view(),
        points: whole.points,
      };
    }),
  );
}

test('with durability "turn", a host that dies loses its whole current turn, and earlier turns are complete', async () => {
  const found = await remains('turn');
  expect(new Set(found.map(({ messages }) => messages.length))).toEqual(new Set([0, 5, 10]));
  for (const { dieAt, messages, view, points } of found) {
    expect(historyFaults(messages)).toEqual([]);
    expect(view.endReason).toBe(messages.length ? 'stop' : undefined);
    const over = points.slice(0, dieAt).filter((point) => point.endsWith('is over')).length;
    expect(messages.length).toBeGreaterThanOrEqual(over * 5);
  }
});

test('with durability "step", only steps that were not acknowledged are lost, and the log names the tools that had started', async () => {
  const found = await remains('step');
  expect(new Set(found.map(({ messages }) => messages.length))).toEqual(
    new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
  );
  for (const { dieAt, messages, view, points } of found) {
    const open = [...view.calls.keys()];
    expect(historyFaults(messages, open)).toEqual([]);
    const before = points.slice(0, dieAt);
    const ran = before.filter((point) => point === 'step starts').length;
    const results = messages.filter(({ role }) => role === 'tool').length;
    const started = [...view.calls.values()].filter((call) => call.started).length;
    // The log records each tool call before the tool runs.
    expect(started + results).toBeGreaterThanOrEqual(ran);
  }
});

test('with durability "turn", a turn makes two writes', async () => {
  const process = new MortalProcess(new MemoryStore(), makeWitness(), { generation: 0 });
  await converse(process, 'turn');
  const writes = process.points.filter((point) => point.endsWith(', written'));
  expect(writes.map((point) => point.split(' ')[0])).toEqual([
    'setMany',
    'compareAndSet',
    'setMany',
    'compareAndSet',
  ]);
});
