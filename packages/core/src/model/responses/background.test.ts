import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import {
  lookTool,
  BackgroundProvider,
  callLength,
  textLength,
} from '@test/provider-server/background-provider.ts';
import { fallback } from '../../resilience/fallback.ts';
import type { Fetch } from '../http/http-model.ts';
import { signalUntilTestEnd } from '@test/support/test-end.ts';
import { openaiResponses } from './openai-responses.ts';

interface Host {
  readonly agent: ReActAgent;
  /** Number of times the tool ran on this host. */
  readonly runs: () => number;
}

function host(
  provider: BackgroundProvider,
  store: MemoryStore,
  memory: SessionMemory = new SessionMemory(store, 's'),
): Host {
  const { look, runs } = lookTool();
  const model = openaiResponses({ model: 'gpt-5.4', background: true, fetch: provider.fetch });
  return { agent: new ReActAgent({ name: 'a', model, tools: [look], memory }), runs };
}

/** Returns the id of the response that the session's log keeps. */
async function storedId(store: MemoryStore): Promise<unknown> {
  const { reply } = await new SessionMemory(store, 's').view();
  return reply?.state?.['id'];
}

/**
 * Starts a call on a host. The host waits for ever when the provider holds back the rest of the
 * reply.
 */
async function runUntilHeld(provider: BackgroundProvider, store: MemoryStore): Promise<void> {
  const { agent } = host(provider, store);
  const stream = agent.stream('Where?', { detached: true, signal: signalUntilTestEnd() });
  stream.result.catch(() => undefined);
  await expect.poll(() => storedId(store)).toBe('resp_1');
}

test.for(Array.from({ length: callLength - 1 }, (_, index) => index + 1))(
  'if a host dies after event %i of a tool call, the next host reads the same generation',
  async (hold) => {
    const provider = new BackgroundProvider();
    const store = new MemoryStore();
    provider.hold = hold;
    await runUntilHeld(provider, store);
    provider.hold = Infinity;
    const { agent, runs } = host(provider, store);
    expect((await agent.call()).text).toBe(provider.answer);
    expect(provider.generations).toHaveLength(2);
    expect(provider.resumed).toEqual(['resp_1 after 0']);
    expect(runs()).toBe(1);
  },
);

test.for(Array.from({ length: textLength - 1 }, (_, index) => index + 1))(
  'if a host dies after event %i of an answer, the next host reads the same generation',
  async (hold) => {
    const provider = new BackgroundProvider();
    const store = new MemoryStore();
    const { agent, runs } = host(provider, store);
    const stream = agent.stream('Where?', {
      detached: true,
      throwOnError: false,
      signal: signalUntilTestEnd(),
    });
    for await (const event of stream) {
      if (event.type !== 'post-acting') continue;
      provider.hold = hold;
      break;
    }
    await expect.poll(() => provider.generations.length).toBe(2);
    await expect.poll(() => storedId(store)).toBe('resp_2');
    provider.hold = Infinity;
    const next = host(provider, store);
    const events: AgentEvent[] = [];
    for await (const event of next.agent.stream()) events.push(event);
    const said = events.map((event) => (event.type === 'reasoning-chunk' ? event.delta : ''));
    expect(said.join('')).toBe(provider.answer);
    expect(provider.generations).toHaveLength(2);
    expect(runs() + next.runs()).toBe(1);
    const messages = await next.agent.messages();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect((await new SessionMemory(store, 's').view()).reply).toBeUndefined();
  },
);

test('a connection that breaks continues after the last event', async () => {
  const provider = new BackgroundProvider();
  provider.cut = 3;
  const { agent } = host(provider, new MemoryStore());
  expect((await agent.call('Where?')).text).toBe(provider.answer);
  expect(provider.generations).toHaveLength(2);
  expect(provider.resumed).toEqual(['resp_1 after 2']);
});

test.for([2, 3, 4, 5])(
  'a server that sends all events again after a break at event %i repeats nothing',
  async (cut) => {
    const provider = new BackgroundProvider();
    const { agent, runs } = host(provider, new MemoryStore());
    provider.repeatsAll = true;
    const stream = agent.stream('Where?');
    const said: string[] = [];
    for await (const event of stream) {
      if (event.type === 'run-start' || event.type === 'post-acting') provider.cut = cut;
      if (event.type === 'reasoning-chunk') said.push(event.delta);
      expect(event.type).not.toBe('step-reset');
    }
    expect(provider.resumed).toHaveLength(2);
    expect(said.join('')).toBe(provider.answer);
    expect(provider.generations).toHaveLength(2);
    expect(runs()).toBe(1);
  },
);

test('the id is stored before the first delta reaches a reader', async () => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  const { agent } = host(provider, store);
  const kept: unknown[] = [];
  for await (const { type } of agent.stream('Where?')) {
    if (type !== 'tool-input-chunk' && type !== 'reasoning-chunk') continue;
    const { reply } = await new SessionMemory(store, 's').view();
    if (reply) kept.push(reply.state?.['id']);
  }
  expect(kept[0]).toBe('resp_1');
});

test('an expired response begins again after a step-reset', async () => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  provider.hold = 4;
  await runUntilHeld(provider, store);
  provider.hold = Infinity;
  provider.isGone = true;
  const events: AgentEvent[] = [];
  for await (const event of host(provider, store).agent.stream()) events.push(event);
  const resets = events.flatMap((event) => (event.type === 'step-reset' ? [event.reason] : []));
  expect(resets).toEqual(['expired']);
  expect(provider.generations).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { text: provider.answer } });
});

test.for<[name: string, stop: (agent: ReActAgent, abort: AbortController) => void]>([
  ['an abort', (_, abort) => abort.abort()],
  ['an interrupt', (agent) => void agent.interrupt('Stop')],
])('%s cancels the generation', async ([, stop]) => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  provider.hold = 4;
  const { agent } = host(provider, store);
  const abort = new AbortController();
  const options = { detached: true, signal: abort.signal, throwOnError: false } as const;
  const stream = agent.stream('Where?', options);
  await expect.poll(() => storedId(store)).toBe('resp_1');
  stop(agent, abort);
  await stream.result;
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
  expect((await new SessionMemory(store, 's').view()).reply).toBeUndefined();
});

test('a timeout cancels the generation', async () => {
  const provider = new BackgroundProvider();
  provider.hold = 4;
  const store = new MemoryStore();
  const limited = new ReActAgent({
    name: 'a',
    model: openaiResponses({ model: 'gpt-5.4', background: true, fetch: provider.fetch }),
    memory: new SessionMemory(store, 't'),
    limits: { timeoutMs: 50 },
  });
  await limited.call('Where?', { throwOnError: false });
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
});

test('a host that lost the session does not cancel what the next host reads', async () => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  provider.hold = 4;
  const first = new SessionMemory(store, 's');
  await first.claim();
  const abort = new AbortController();
  const { agent } = host(provider, store, first);
  const stream = agent.stream('Where?', {
    detached: true,
    signal: abort.signal,
    throwOnError: false,
  });
  stream.result.catch(() => undefined);
  await expect.poll(() => storedId(store)).toBe('resp_1');
  const second = new SessionMemory(store, 's');
  await second.claim();
  abort.abort();
  await stream.result.catch(() => undefined);
  provider.hold = Infinity;
  const result = await host(provider, store, second).agent.call();
  expect(result.text).toBe(provider.answer);
  expect(provider.generations.map(({ cancelled }) => cancelled)).toEqual([false, false]);
});

test('if the id of a generation cannot be stored, the generation is canceled', async () => {
  const provider = new BackgroundProvider();
  class Failing extends SessionMemory {
    override get replies() {
      const save = async () => {
        throw new Error('The disk is full.');
      };
      const replySlot = { load: async () => undefined, save, clear: async () => {} };
      return { slotAfter: () => replySlot };
    }
  }
  const store = new MemoryStore();
  const { agent } = host(provider, store, new Failing(store, 's'));
  await expect(agent.call('Where?')).rejects.toThrow('The disk is full.');
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
});

test.for<[name: string, stop: (agent: ReActAgent, abort: AbortController) => void]>([
  ['an abort', (_, abort) => abort.abort()],
  ['an interrupt', (agent) => void agent.interrupt('Stop')],
])('if the store hangs while the id is stored, %s cancels the generation', async ([, stop]) => {
  const provider = new BackgroundProvider();
  let isReached = false;
  class Hanging extends SessionMemory {
    override note(...given: Parameters<SessionMemory['note']>): Promise<void> {
      if (!given[0].some(({ kind }) => kind === 'reply')) return super.note(...given);
      isReached = true;
      return new Promise<void>(() => {});
    }
  }
  const store = new MemoryStore();
  const { agent } = host(provider, store, new Hanging(store, 's'));
  const abort = new AbortController();
  const options = { detached: true, signal: abort.signal, throwOnError: false } as const;
  const stream = agent.stream('Where?', options);
  await expect.poll(() => isReached).toBe(true);
  stop(agent, abort);
  await stream.result;
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
  expect(provider.generations).toHaveLength(1);
});

test('a new message after the death of a host cancels the generation that nobody reads', async () => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  provider.hold = 4;
  await runUntilHeld(provider, store);
  provider.hold = Infinity;
  const { agent } = host(provider, store);
  expect((await agent.call('Somewhere else?')).text).toBe(provider.answer);
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
  expect(provider.resumed).toEqual([]);
  expect(provider.generations.slice(1).map(({ cancelled }) => cancelled)).toEqual([false, false]);
});

test.for([429, 500, 503])('a resuming request with the status %i is sent again', async (status) => {
  const provider = new BackgroundProvider();
  provider.cut = 3;
  provider.refusals.push(status);
  const { agent } = host(provider, new MemoryStore());
  expect((await agent.call('Where?')).text).toBe(provider.answer);
  expect(provider.generations).toHaveLength(2);
  expect(provider.resumed).toEqual(['resp_1 after 2', 'resp_1 after 2']);
});

test('a broken reply whose events have no numbers is not resumed by number', async () => {
  const provider = new BackgroundProvider();
  provider.isNumbered = false;
  provider.cut = 3;
  const { agent } = host(provider, new MemoryStore());
  await expect(agent.call('Where?')).rejects.toMatchObject({ code: 'MODEL_UNREACHABLE' });
  expect(provider.resumed).toEqual([]);
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
});

test.for([true, false])(
  'the next host resumes a reply of a fallback() model if the first model fails again (background: %s)',
  async (background) => {
    const provider = new BackgroundProvider();
    const store = new MemoryStore();
    const open = (): ReActAgent => {
      const fetch: Fetch = async (url, init) =>
        url.endsWith('/responses')
          ? new Response('{"error":{}}', { status: 500 })
          : provider.fetch(url, init);
      const backup = openaiResponses({ model: 'gpt-5.5', background: true, fetch: provider.fetch });
      return new ReActAgent({
        name: 'a',
        model: openaiResponses({ model: 'gpt-5.4', background, fetch }),
        tools: [lookTool().look],
        memory: new SessionMemory(store, 's'),
        use: [fallback([backup])],
      });
    };
    provider.hold = 4;
    const stream = open().stream('Where?', { detached: true, signal: signalUntilTestEnd() });
    stream.result.catch(() => undefined);
    await expect.poll(() => storedId(store)).toBe('resp_1');
    provider.hold = Infinity;
    expect((await open().call()).text).toBe(provider.answer);
    expect(provider.resumed).toEqual(['resp_1 after 0']);
    expect(provider.generations.map(({ cancelled }) => cancelled)).toEqual([false, false]);
  },
);

test("with `durability: 'turn'`, the provider's background mode is not used", async () => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { durability: 'turn' });
  const { agent } = host(provider, store, memory);
  expect((await agent.call('Where?')).text).toBe(provider.answer);
  expect((await memory.view()).reply).toBeUndefined();
});

test('a response that expires while it is read begins again after a step-reset', async () => {
  const provider = new BackgroundProvider();
  provider.cut = 3;
  const { agent } = host(provider, new MemoryStore());
  const resets: string[] = [];
  provider.isGone = true;
  const stream = agent.stream('Where?');
  for await (const event of stream) if (event.type === 'step-reset') resets.push(event.reason);
  expect(resets).toEqual(['expired']);
  expect((await stream.result).text).toBe(provider.answer);
  expect(provider.generations).toHaveLength(3);
});

test('a reply that no longer fits the request is canceled', async () => {
  const provider = new BackgroundProvider();
  const store = new MemoryStore();
  provider.hold = 4;
  await runUntilHeld(provider, store);
  provider.hold = Infinity;
  const { look } = lookTool();
  const other = new ReActAgent({
    name: 'a',
    model: openaiResponses({ model: 'gpt-5.5', background: true, fetch: provider.fetch }),
    tools: [look],
    memory: new SessionMemory(store, 's'),
  });
  expect((await other.call()).text).toBe(provider.answer);
  await expect.poll(() => provider.generations[0]!.cancelled).toBe(true);
});
