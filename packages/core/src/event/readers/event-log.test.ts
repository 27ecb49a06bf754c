import { expect, test } from 'vitest';
import { attach } from './attach.ts';
import { addEvent, eventLogShortener, type EventLog } from './event-log.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { AgentEvent } from '../agent-event.ts';
import { textOf } from '../../message/msg.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { tool } from '../../tool/tool.ts';

const input = { type: 'object' } as const;
const tenThousand = 'word '.repeat(2_000);

/**
 * Creates a model whose replies have this number of characters. All replies but the last call a
 * tool.
 */
const talker = (replies: number, characters: number): ChatModel => {
  let asked = 0;
  return {
    provider: 'p',
    modelId: 'm',
    features: { tools: true, media: [] },
    async *stream() {
      asked += 1;
      for (let said = 0; said < characters; said += tenThousand.length)
        yield [{ type: 'text', id: 't', delta: tenThousand }];
      if (asked < replies)
        yield [{ type: 'tool-input', index: 0, id: `c${asked}`, name: 'look', delta: '{}' }];
      yield [{ type: 'finish', reason: 'stop' }];
    },
  };
};

const sizeOf = (events: readonly AgentEvent[]): number =>
  events
    .map((event) => ('delta' in event ? event.delta : 'chunk' in event ? event.chunk : ''))
    .reduce<number>((sum, part) => sum + String(part).length, 0);

const eventsOf = async (agent: ReActAgent, afterSeq?: number): Promise<readonly AgentEvent[]> => {
  const events: AgentEvent[] = [];
  for await (const event of attach(agent, { ...(afterSeq && { afterSeq }) })!) events.push(event);
  return events;
};

test('for a late reader of a long run, old replies come whole instead of in parts', async () => {
  const look = tool({ name: 'look', description: 'Looks.', input, execute: () => 'seen' });
  const agent = new ReActAgent({ name: 'a', model: talker(10, 900_000), tools: [look] });
  const { result } = agent.stream('Hi', { detached: true });
  const { text } = await result;
  expect(text).toHaveLength(900_000);
  const events = await eventsOf(agent);
  expect(orderFaults(events)).toEqual([]);
  expect(sizeOf(events)).toBeLessThan(5_000_000);
  const replies = events.filter(({ type }) => type === 'post-reasoning');
  expect(replies).toHaveLength(10);
  const resets = events.filter((event) => event.type === 'step-reset');
  expect(resets.length).toBeGreaterThan(4);
  for (const { replacement, iteration } of resets) {
    const reply = replies.find((event) => event.iteration === iteration);
    expect(reply).toMatchObject({ message: { id: replacement!.id } });
    expect(textOf(replacement!)).toHaveLength(900_000);
  }
  // A reader that continues in the middle of a reply gets the whole reply.
  const middle = resets[2]!.seq - 20;
  const rest = await eventsOf(agent, middle);
  expect(rest[0]!.seq).toBeGreaterThan(middle);
  expect(rest.filter(({ type }) => type === 'step-reset')).toEqual(resets.slice(2));
});

test('the log keeps only the newest progress of a tool that reports endlessly', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input,
    async execute(_input, { emit }) {
      for (let index = 0; index < 1_000; index += 1) {
        emit(index % 2 ? `${index} ${tenThousand}` : { index, text: tenThousand });
        await new Promise((resolve) => setTimeout(resolve));
      }
      return 'seen';
    },
  });
  const agent = new ReActAgent({ name: 'a', model: talker(2, 10), tools: [look] });
  const { text } = await agent.stream('Hi', { detached: true }).result;
  const events = await eventsOf(agent);
  expect(orderFaults(events)).toEqual([]);
  const progress = events.filter((event) => event.type === 'acting-chunk');
  expect(progress.length).toBeGreaterThan(50);
  expect(progress.length).toBeLessThan(900);
  // The newest progress is kept.
  expect(progress.at(-1)).toMatchObject({ chunk: expect.stringContaining('999 ') });
  expect(text).toContain('word');
});

test('the log keeps only a part of the messages that many requests contained', async () => {
  const look = tool({ name: 'look', description: 'Looks.', input, execute: () => 'seen' });
  const agent = new ReActAgent({
    name: 'a',
    model: talker(800, 1),
    tools: [look],
    limits: { iterations: Infinity },
  });
  await agent.stream('Hi', { detached: true }).result;
  const events = await eventsOf(agent);
  expect(orderFaults(events)).toEqual([]);
  const requests = events.filter((event) => event.type === 'pre-reasoning');
  expect(requests).toHaveLength(800);
  const messages = requests.reduce((sum, event) => sum + event.messages.length, 0);
  expect(messages).toBeLessThan(200_000);
});

test('a reader that reads from the start gets every part', async () => {
  const look = tool({ name: 'look', description: 'Looks.', input, execute: () => 'seen' });
  const agent = new ReActAgent({ name: 'a', model: talker(10, 900_000), tools: [look] });
  const stream = agent.stream('Hi', { detached: true });
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  expect(sizeOf(events)).toBe(9_000_000 + 18);
  expect(events.filter(({ type }) => type === 'step-reset')).toEqual([]);
});

/** Adds these events to a log that is kept short. Returns the number of entries at its longest. */
function longestLog(events: Iterable<AgentEvent>, add: typeof addEvent): number {
  const shorten = eventLogShortener();
  let log: EventLog = [];
  let longest = 0;
  for (const event of events) {
    add(log, event);
    longest = Math.max(longest, log.length);
    log = shorten(log, event);
  }
  return longest;
}

const base = { runId: 'r', sessionId: 's', agentPath: ['a'], at: 0 };
const message = { id: 'm', role: 'assistant', content: [], createdAt: '' } as const;

/** Yields 200 replies of 1000 deltas with one character each. */
function* smallDeltas(): Generator<AgentEvent> {
  const block = { type: 'reasoning-chunk', kind: 'text', blockId: 'b', delta: 'x' } as const;
  for (let seq = 1; seq <= 200_000; seq += 1) {
    const iteration = Math.ceil(seq / 1_000);
    if (seq % 1_000) yield { ...base, iteration, seq, ...block };
    else yield { ...base, iteration, seq, type: 'post-reasoning', message };
  }
}

/** Yields progress of one character, 200,000 times. */
function* smallProgress(): Generator<AgentEvent> {
  for (let seq = 1; seq <= 200_000; seq += 1)
    yield { ...base, iteration: 1, seq, type: 'acting-chunk', toolUseId: 'c', chunk: 1 };
}

test.each<[string, Iterable<AgentEvent>, typeof addEvent]>([
  ['deltas that are not joined', smallDeltas(), (log, event) => log.push({ event, ends: [] })],
  ['the progress of a tool', smallProgress(), addEvent],
])('the log of a long run has a limited number of entries for %s', (_what, events, add) => {
  expect(longestLog(events, add)).toBeLessThan(100_000);
});

test('deltas that are joined do not count as entries', () => {
  const shorten = eventLogShortener();
  let log: EventLog = [];
  for (const event of smallDeltas()) {
    addEvent(log, event);
    log = shorten(log, event);
  }
  expect(log.filter(({ event }) => event.type === 'step-reset')).toEqual([]);
});
