import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { attach } from './attach.ts';
import { expect, test } from 'vitest';
import type { AgentEvent } from '../agent-event.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import type { AgentOptions } from '../../react-agent/agent-options.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { AgentStream } from './agent-stream.ts';

const setUp = (replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) =>
  new ReActAgent({ name: 'a', model: new ScriptedModel(replies), ...options });

async function readAll(stream: AsyncIterable<AgentEvent> | null): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream!) events.push(event);
  return events;
}

const thought = { thinking: 'so it is, is it not, yes', text: 'one two three four five six' };

/** Returns the content of the events, however their deltas are joined. */
const said = (events: readonly AgentEvent[]): string =>
  events
    .map((event) => (event.type === 'reasoning-chunk' ? event.delta : `<${event.type}>`))
    .join('');

test('a reader that reattaches after any event gets exactly the later events', async () => {
  const agent = setUp([thought, thought]);
  // The first reader is as fast as the run, so it gets every delta separately.
  const single: AgentEvent[] = [];
  agent.addHook({ on: { '*': (event) => void single.push(event) } });
  const { runId, result } = agent.stream('go', { detached: true });
  await result;
  expect(single.length).toBeGreaterThan(15);
  for (const [index, { seq }] of single.entries()) {
    const rest = await readAll(attach(agent, { runId, afterSeq: seq }));
    expect(said(rest)).toBe(said(single.slice(index + 1)));
  }
  expect(said(await readAll(attach(agent)))).toBe(said(single));
});

test('a reader that left in the middle of an answer reattaches by sequence number and misses nothing', async () => {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  const agent = setUp([[{ text: 'one two ' }, { wait }, { text: 'three four' }]]);
  const stream = agent.stream('go', { detached: true });
  const first: AgentEvent[] = [];
  for await (const event of stream) {
    first.push(event);
    if (event.type === 'reasoning-chunk') break;
  }
  const rest = readAll(attach(agent, { runId: stream.runId, afterSeq: first.at(-1)!.seq }));
  open();
  expect(said([...first, ...(await rest)])).toBe(said(await readAll(attach(agent))));
  expect((await stream.result).text).toBe('one two three four');
});

test('fast, slow and late readers get the same content', async () => {
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

test('attach() returns null before a stream, for another run, and for a run that a reader paces', async () => {
  const agent = setUp(['one', 'two', 'three']);
  expect(attach(agent)).toBeNull();
  await agent.call('go');
  expect(attach(agent)).toBeNull();
  const paced = agent.stream('go');
  await paced[Symbol.asyncIterator]().next();
  expect(attach(agent)).toBeNull();
  await paced.cancel();
  const { runId, result } = agent.stream('go', { detached: true });
  await result;
  expect(attach(agent, { runId: 'another' })).toBeNull();
  expect(attach(agent, { runId })).not.toBeNull();
});

test('late readers of a failed run get its end and its error', async () => {
  const agent = setUp([{ text: 'half ', error: new Error('down') }]);
  const stream = agent.stream('go', { detached: true });
  await expect(stream.result).rejects.toMatchObject({ code: 'INTERNAL' });
  const seen: string[] = [];
  const late = (async () => {
    for await (const { type } of attach(agent) as AgentStream) seen.push(type);
  })();
  await expect(late).rejects.toMatchObject({ code: 'INTERNAL' });
  expect(seen.slice(-2)).toEqual(['error', 'run-end']);
});

test('a stream stores a long answer in a few long deltas', async () => {
  const deltas = Array.from({ length: 1000 }, (): readonly ModelDelta[] =>
    Array.from({ length: 100 }, () => ({ type: 'text', id: 't', delta: 'ab, ' })),
  );
  const agent = setUp([{ deltas: [...deltas, [{ type: 'finish', reason: 'stop' }]] }]);
  const stream = agent.stream('go', { detached: true });
  const reader = readAll(stream);
  expect((await stream.result).text).toBe('ab, '.repeat(100_000));
  expect((await reader).length).toBeGreaterThan(0);
  const kept = await readAll(attach(agent));
  expect(said(kept)).toContain('ab, '.repeat(100_000));
  // The stream joins 100,000 deltas of 4 characters into deltas of about 1,024 characters.
  expect(kept.length).toBeLessThan(600);
});

/** A reply that ends when the test opens it. */
function gate(text: string) {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  return { open, reply: [{ text }, { wait }] as ScriptedReply };
}

test('a stream that a busy agent rejects does not affect the readers of the running stream', async () => {
  const { open, reply } = gate('first');
  const agent = setUp([reply]);
  const running = agent.stream('one', { detached: true });
  await expect(agent.stream('two', { detached: true }).result).rejects.toMatchObject({
    code: 'AGENT_BUSY',
  });
  await expect(readAll(agent.stream('three'))).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  const later = readAll(attach(agent, { runId: running.runId }));
  open();
  expect(said(await later)).toContain('first');
  expect(said(await later)).toBe(said(await readAll(running)));
});

test('attach() returns the running stream while another stream is queued, and later the queued stream', async () => {
  const { open, reply } = gate('first');
  const agent = setUp([reply, 'second', 'third'], { whenBusy: 'queue' });
  const one = agent.stream('one', { detached: true });
  const two = agent.stream('two', { detached: true });
  const three = agent.call('three');
  expect(attach(agent, { runId: two.runId })).toBeNull();
  const reader = readAll(attach(agent));
  open();
  expect((await reader).at(-1)).toMatchObject({ runId: one.runId, result: { text: 'first' } });
  await three;
  expect((await readAll(attach(agent, { runId: two.runId }))).at(-1)).toMatchObject({
    result: { text: 'second' },
  });
});

test('a run whose `result` was requested before its first reader accepts any number of readers', async () => {
  const agent = setUp(['one two three']);
  const stream = agent.stream('go');
  const { result } = stream;
  const [first, second] = await Promise.all([
    readAll(stream),
    readAll(attach(agent, { runId: stream.runId })),
  ]);
  expect(said(first)).toBe(said(second));
  expect((await result).text).toBe('one two three');
});

test.for([false, true])(
  'overlapping reads get each event once, in order (detached: %s)',
  async (detached) => {
    const deltas: readonly ModelDelta[][] = [['a', 'b', 'c'], ['d'], ['e', 'f']].map((texts) =>
      texts.map((delta) => ({ type: 'text', id: 't', delta })),
    );
    const agent = setUp([{ deltas: [...deltas, [{ type: 'finish', reason: 'stop' }]] }]);
    const heard: number[] = [];
    agent.addHook({ on: { '*': ({ seq }) => void heard.push(seq) } });
    const stream = agent.stream('go', { detached });
    if (detached) await stream.result;
    const iterator = stream[Symbol.asyncIterator]();
    const reads = await Promise.all(Array.from({ length: 20 }, () => iterator.next()));
    const events = reads.flatMap(({ done, value }) => (done ? [] : [value as AgentEvent]));
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    if (!detached) expect(seqs).toEqual(heard);
    expect(
      events.map((event) => (event.type === 'reasoning-chunk' ? event.delta : '')).join(''),
    ).toBe('abcdef');
    expect(reads.at(-1)).toEqual({ done: true, value: undefined });
  },
);

test('canceling readable() aborts a paced run and its model request, but not a detached run', async () => {
  const { agent, model } = scriptedAgent([
    'one two three four',
    [{ text: 'five six ' }, { text: 'seven' }],
  ]);
  const paced = agent.stream('go');
  const reader = paced.readable().getReader();
  for (let batch = 0; batch < 4; batch += 1) await reader.read();
  await reader.cancel();
  expect((await paced.result).reason).toBe('aborted');
  expect(model.reads).toBe(1);
  const detached = agent.stream('go on', { detached: true });
  const left = detached.readable().getReader();
  await left.read();
  await left.cancel();
  expect((await detached.result).text).toBe('five six seven');
});

test('a reader can reattach at every event while deltas of several blocks and tool calls alternate', async () => {
  const piece = (index: number, delta: string): ModelDelta => ({
    type: 'tool-input',
    index,
    id: `c${index}`,
    name: 'x',
    delta,
  });
  const deltas: readonly ModelDelta[][] = [
    [
      { type: 'thinking', id: 'k', delta: 'hm' },
      { type: 'text', id: 't', delta: 'a' },
    ],
    [
      { type: 'thinking', id: 'k', delta: ' ah' },
      { type: 'text', id: 't', delta: 'b' },
      { type: 'text', id: 't', delta: 'c' },
    ],
    [piece(0, '{"n"'), piece(1, '{'), piece(1, '"n":2}'), piece(0, ':1}')],
    [{ type: 'finish', reason: 'tool_calls' }],
  ];
  const agent = setUp([{ deltas }, 'done']);
  const single: AgentEvent[] = [];
  agent.addHook({ on: { '*': (event) => void single.push(event) } });
  await agent.stream('go', { detached: true }).result;
  const texts = (events: readonly AgentEvent[]): Record<string, string> => {
    const by: Record<string, string> = {};
    for (const event of events) {
      if (!('delta' in event)) continue;
      const block = event.type === 'tool-input-chunk' ? event.toolUseId : event.blockId;
      by[block] = (by[block] ?? '') + event.delta;
    }
    return by;
  };
  for (let afterSeq = 0; afterSeq <= single.length + 1; afterSeq += 1) {
    const rest = await readAll(attach(agent, { afterSeq }));
    const expected = single.filter(({ seq }) => seq > afterSeq);
    expect(texts(rest)).toEqual(texts(expected));
    expect(rest.filter((event) => !('delta' in event))).toEqual(
      expected.filter((event) => !('delta' in event)),
    );
  }
});

test('a reader of a stream that is canceled still gets the end of the run', async () => {
  for (let at = 1; at < 12; at += 1) {
    const agent = setUp(['one two three four', 'next']);
    const heard: AgentEvent[] = [];
    agent.addHook({ on: { '*': (event) => void heard.push(event) } });
    const stream = agent.stream('go');
    const events: AgentEvent[] = [];
    for await (const event of stream) if (events.push(event) === at) void stream.cancel();
    expect(events, `at ${at}`).toEqual(heard);
    expect(events.at(-1), `at ${at}`).toMatchObject({
      type: 'run-end',
      result: { reason: at < 8 ? 'aborted' : 'stop' },
    });
    expect((await agent.call('again')).reason).toBe('stop');
  }
});

test('if a canceled run fails while it ends, its remaining reader gets the failure', async () => {
  const agent = setUp(['one two three']);
  const hook = { on: { 'run-end': () => Promise.reject(new Error('hook down')) } };
  agent.addHook(hook);
  const stream = agent.stream('go');
  const seen: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { type } of stream) if (seen.push(type) === 4) void stream.cancel();
  };
  await expect(read()).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  expect(seen.slice(-2)).toEqual(['error', 'run-end']);
});

test('an unread failure is never an unhandled rejection, and a later reader gets the failure', async () => {
  const failing = (options: Partial<AgentOptions> = {}) => {
    let fail!: () => void;
    const wait = new Promise<void>((resolve) => (fail = resolve));
    return {
      fail,
      agent: setUp([[{ text: 'half ' }, { wait }, { error: new Error('down') }]], options),
    };
  };
  const settle = async (): Promise<void> => {
    for (let tick = 0; tick < 200; tick += 1) await Promise.resolve();
    await new Promise((resolve) => setTimeout(resolve));
  };
  const down = { code: 'INTERNAL', message: 'down' };

  const detached = failing();
  const stream = detached.agent.stream('go', { detached: true });
  const left = stream[Symbol.asyncIterator]();
  await left.next();
  detached.fail();
  await settle();
  await expect(stream.result).rejects.toMatchObject(down);
  await expect(readAll(stream)).rejects.toMatchObject(down);
  await expect(readAll(attach(detached.agent, { afterSeq: 1000 }))).rejects.toMatchObject(down);

  const paced = failing();
  const one = paced.agent.stream('go');
  const reading = readAll(one).catch((error: unknown) => error);
  paced.fail();
  expect(await reading).toMatchObject(down);
  await settle();
  await expect(one.result).rejects.toMatchObject(down);

  const readable = failing();
  const stream2 = readable.agent.stream('go');
  const reader = stream2.readable().getReader();
  readable.fail();
  const drain = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  await expect(drain()).rejects.toMatchObject(down);
  await settle();

  const queued = failing({ whenBusy: 'queue' });
  queued.agent.stream('one', { detached: true });
  queued.agent.stream('two', { detached: true });
  const unread = queued.agent.stream('three');
  await unread.cancel();
  queued.fail();
  await settle();
  expect(queued.agent.busy).toBe(false);

  const injected = failing({ whenBusy: 'inject' });
  injected.agent.stream('one', { detached: true });
  injected.agent.stream('two', { detached: true });
  injected.fail();
  await settle();

  const busy = failing();
  busy.agent.stream('one', { detached: true });
  busy.agent.stream('two', { detached: true });
  await busy.agent.stream('three').cancel();
  busy.fail();
  await settle();
});
