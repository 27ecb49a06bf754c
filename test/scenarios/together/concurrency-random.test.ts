import { attach } from '@isoloop/core/event';
import { expect, test } from 'vitest';
import { seeds } from '../../test-extent.ts';
import { type AgentEvent, textOf, tool, type AgentStream, ReActAgent } from '@isoloop/core';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { randomOf } from '../../random-of.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

/** Returns the content of the events, however their deltas are joined. */
const said = (events: readonly AgentEvent[]): string =>
  events.map((event) => ('delta' in event ? event.delta : `<${event.type} ${event.seq}>`)).join('');

/** Creates an agent with random delays, and records the events that its hooks get in each run. */
function world(seed: number) {
  const random = randomOf(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const chance = (odds: number): boolean => random() < odds;
  const pause = async (most: number): Promise<void> => {
    for (let tick = below(most); tick > 0; tick -= 1) await Promise.resolve();
  };
  const slow = tool({
    name: 'slow',
    description: '',
    input: { type: 'object' },
    async execute(_input, { emit }) {
      emit('on');
      await pause(30);
    },
  });
  const reply: ScriptedReply = ({ messages }) => {
    if (messages.at(-1)!.role !== 'tool' && chance(0.5))
      return { text: 'calls', toolCalls: [{ name: 'slow' }, { name: 'slow' }] };
    return [
      { text: 'one two ' },
      { wait: () => pause(20) },
      { text: 'three' },
      ...(chance(0.1) ? [{ error: new Error('down') }] : []),
    ];
  };
  const model = new ScriptedModel(Array.from({ length: 100 }, () => reply));
  const whenBusy = (['reject', 'queue', 'inject'] as const)[below(3)]!;
  const agent = new ReActAgent({ name: 'a', model, tools: [slow], whenBusy });
  const heard = new Map<string, AgentEvent[]>();
  const active = new Set<string>();
  const most = { active: 0 };
  agent.addHook({
    on: {
      'pre-call': ({ runId }) => void (most.active = Math.max(most.active, active.add(runId).size)),
      '*'(event) {
        heard.set(event.runId, [...(heard.get(event.runId) ?? []), event]);
        if (event.type === 'run-end') active.delete(event.runId);
      },
    },
  });
  return { below, chance, pause, model, agent, heard, most, whenBusy };
}

type World = ReturnType<typeof world>;

/**
 * Reads a stream with random pauses. The reader may leave and attach again, or cancel and keep
 * reading. Checks that the reader gets the same events as the hooks.
 */
async function read(
  { agent, heard, below, chance, pause }: World,
  stream: AgentStream,
  detached: boolean,
): Promise<void> {
  const leaves = chance(0.2) ? 1 + below(10) : Infinity;
  const cancels = chance(0.2) ? 1 + below(10) : Infinity;
  const events: AgentEvent[] = [];
  const follow = async (from: AgentStream): Promise<void> => {
    for await (const event of from) {
      const count = events.push(event);
      if (count === leaves) return;
      if (count === cancels) void stream.cancel();
      if (chance(0.2)) await pause(20);
    }
  };
  await follow(stream).catch(() => {});
  if (events.length === leaves) {
    const again = detached && attach(agent, { runId: stream.runId, afterSeq: events.at(-1)!.seq });
    if (!again) return void (await stream.result.catch(() => {}));
    await follow(again).catch(() => {});
  }
  const all = heard.get(stream.runId) ?? [];
  expect(said(events)).toBe(said(all));
  if (all.length) expect(orderFaults(all)).toEqual([]);
}

test.for(seeds({ quick: 60, full: 300 }))(
  'any mix of calls, readers and readers that leave gives a valid conversation: seed %i',
  async (seed) => {
    const here = world(seed);
    const { agent, model, below, chance, pause, most, whenBusy } = here;
    const jobs: Promise<unknown>[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      await pause(120);
      const controller = new AbortController();
      const { signal } = controller;
      const what = below(7);
      if (what < 2) jobs.push(agent.call(`m${turn}`, { signal }).catch(() => {}));
      else if (what < 5) {
        const detached = chance(0.5);
        const stream = agent.stream(`m${turn}`, { detached, signal });
        jobs.push(chance(0.2) ? stream.result.catch(() => {}) : read(here, stream, detached));
      } else if (what === 5)
        agent.interrupt(chance(0.5) ? {} : { mode: 'inject', messages: `i${turn}` });
      if (chance(0.3)) jobs.push(pause(200).then(() => controller.abort()));
    }
    await Promise.all(jobs);
    // A run whose reader left may still have to finish.
    await expect.poll(() => agent.busy).toBe(false);
    const at = `seed ${seed}, ${whenBusy}`;
    expect(most.active, at).toBe(1);
    const messages = await agent.messages();
    expect(historyFaults(messages), at).toEqual([]);
    expect(
      model.requests.flatMap((request) => requestFaults(request.messages)),
      at,
    ).toEqual([]);
    const users = messages.filter(({ role }) => role === 'user').map(textOf);
    expect(users, at).toEqual([...new Set(users)]);
    if (whenBusy !== 'inject')
      expect(
        users.filter((text) => text.startsWith('m')),
        at,
      ).toEqual(users.filter((text) => text.startsWith('m')).toSorted(byTurn));
  },
);

function byTurn(one: string, other: string): number {
  return Number(one.slice(1)) - Number(other.slice(1));
}
