import { expect, test } from 'vitest';
import type { AgentEvent } from '../hook/agent-event.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import type { AgentStream } from './agent-stream.ts';
import { ReActAgent } from './react-agent.ts';

const setUp = (replies: readonly ScriptedReply[]) => new ReActAgent({ name: 'a', model: new ScriptedModel(replies) });

async function readAll(stream: AsyncIterable<AgentEvent> | null): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream!) events.push(event);
  return events;
}

const thought = { thinking: 'so it is, is it not, yes', text: 'one two three four five six' };

/** What the events say, however their deltas are joined. */
const said = (events: readonly AgentEvent[]): string =>
  events.map((event) => (event.type === 'reasoning-chunk' ? event.delta : `<${event.type}>`)).join('');

test('a reader that comes back after any event gets exactly what followed it', async () => {
  const agent = setUp([thought, thought]);
  // The first reader is as fast as the run, so it has every delta by itself.
  const single: AgentEvent[] = [];
  agent.addHook({ onEvent: (event) => void single.push(event) });
  const { runId, result } = agent.stream('go', { detached: true });
  await result;
  expect(single.length).toBeGreaterThan(15);
  for (const [index, { seq }] of single.entries()) {
    const rest = await readAll(agent.attach({ runId, afterSeq: seq }));
    expect(said(rest)).toBe(said(single.slice(index + 1)));
  }
  expect(said(await readAll(agent.attach()))).toBe(said(single));
});

test('a reader leaves in the middle of a running answer and comes back by sequence', async () => {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  const agent = setUp([[{ text: 'one two ' }, { wait }, { text: 'three four' }]]);
  const stream = agent.stream('go', { detached: true });
  const first: AgentEvent[] = [];
  for await (const event of stream) {
    first.push(event);
    if (event.type === 'reasoning-chunk') break;
  }
  const rest = readAll(agent.attach({ runId: stream.runId, afterSeq: first.at(-1)!.seq }));
  open();
  expect(said([...first, ...(await rest)])).toBe(said(await readAll(agent.attach())));
  expect((await stream.result).text).toBe('one two three four');
});

test('fast, slow and late readers get the same', async () => {
  const agent = setUp([thought]);
  const stream = agent.stream('go', { detached: true });
  const slow = (async () => {
    const events: AgentEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }
    return events;
  })();
  const fast = readAll(stream);
  await stream.result;
  const late = readAll(stream);
  expect(said(await slow)).toBe(said(await fast));
  expect(said(await late)).toBe(said(await fast));
});

test('there is nothing to attach to before a stream, at another run, and where a reader sets the pace', async () => {
  const agent = setUp(['one', 'two', 'three']);
  expect(agent.attach()).toBeNull();
  await agent.call('go');
  expect(agent.attach()).toBeNull();
  const paced = agent.stream('go');
  await paced[Symbol.asyncIterator]().next();
  expect(agent.attach()).toBeNull();
  await paced.cancel();
  const { runId, result } = agent.stream('go', { detached: true });
  await result;
  expect(agent.attach({ runId: 'another' })).toBeNull();
  expect(agent.attach({ runId })).not.toBeNull();
});

test('a failed run’s later readers see its end and its error', async () => {
  const agent = setUp([{ text: 'half ', error: new Error('down') }]);
  const stream = agent.stream('go', { detached: true });
  await expect(stream.result).rejects.toMatchObject({ code: 'INTERNAL' });
  const seen: string[] = [];
  const late = (async () => {
    for await (const { type } of agent.attach() as AgentStream) seen.push(type);
  })();
  await expect(late).rejects.toMatchObject({ code: 'INTERNAL' });
  expect(seen.slice(-2)).toEqual(['error', 'run-end']);
});

test('a long answer is kept as its text, not as its deltas', async () => {
  const deltas = Array.from({ length: 1000 }, (): readonly ModelDelta[] =>
    Array.from({ length: 100 }, () => ({ type: 'text', id: 't', delta: 'ab, ' })),
  );
  const agent = setUp([{ deltas: [...deltas, [{ type: 'finish', reason: 'stop' }]] }]);
  const stream = agent.stream('go', { detached: true });
  const reader = readAll(stream);
  expect((await stream.result).text).toBe('ab, '.repeat(100_000));
  expect((await reader).length).toBeGreaterThan(0);
  const kept = await readAll(agent.attach());
  expect(said(kept)).toContain('ab, '.repeat(100_000));
  // 100,000 deltas of 4 characters, joined to about 1,024.
  expect(kept.length).toBeLessThan(600);
});
