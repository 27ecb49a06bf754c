import { AgentError, ReActAgent, tool, userMessage, type AgentOptions } from '@isoloop/core';
import { jsonMode } from '@isoloop/core/output';
import { keywordRerank, mmrRerank, retrieval } from '@isoloop/recall';
import type { RetrievedDocument } from '@isoloop/core/message';
import { estimateTokens } from '@isoloop/core/tokens';
import { bySimilarity } from '@isoloop/core/selection';
import { mcpTools } from '@isoloop/mcp';
import { circuitBreaker, retry } from '@isoloop/core/resilience';
import { arcReactor } from '@isoloop/presets';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { readPage } from '../../scripts/readme-examples.ts';
import { signalUntilTestEnd } from '../support/test-end.ts';
import { fakeClock, type FakeClock } from '../clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));
afterEach(() => {
  vi.restoreAllMocks();
});

const never = new Promise<never>(() => {});
const busy = new AgentError('MODEL_SERVER', 'busy', { retryable: true });
const many = (count: number, reply: ScriptedReply = 'ok'): ScriptedReply[] =>
  Array.from({ length: count }, () => reply);
const named = (name: string, execute: () => unknown = () => 'ran') =>
  tool({ name, description: name, input: { type: 'object' }, execute: execute as () => string });

function arcAgent(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const use = [arcReactor(), ...(options.use ?? [])];
  return { model, agent: new ReActAgent({ name: 'a', model, ...options, use }) };
}

/** Returns the largest number in the range for which `holds` returns true. */
async function largest(
  holds: (size: number) => Promise<boolean>,
  [low, high]: readonly [number, number],
): Promise<number> {
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Returns the function `begin`, whose promise never resolves, and the list `begun`, which gets the
 * time of each call.
 */
function stall() {
  const begun: number[] = [];
  return { begun, begin: () => (begun.push(Date.now()), never) };
}

/**
 * Returns the milliseconds on the fake clock from the recorded start (`begun`) to the end of
 * `work`.
 */
async function timeOf(work: Promise<unknown>, begun: readonly number[]): Promise<number> {
  await clock.waitFor(() => expect(begun).toHaveLength(1));
  let end: number | undefined;
  const note = (): void => void (end ??= Date.now());
  work.then(note, note);
  while (end === undefined) await clock.advance(10);
  return end - begun[0]!;
}

async function retryWaits(
  attempts: number | undefined,
  random: number,
): Promise<readonly number[]> {
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  const { agent } = arcAgent(many(20, { error: busy }), {
    use: [retry({ ...(attempts && { attempts }), sleep, random: () => random })],
  });
  await agent.call('Hi', { throwOnError: false });
  return waits;
}

/** Returns the number of successful calls of one user who makes a call every `ms` milliseconds. */
async function callsEach(ms: number): Promise<number> {
  const { agent } = arcAgent(many(1_000));
  for (let calls = 0; ; calls += 1) {
    if ((await agent.call('Hi')).reason === 'rejected') return calls;
    await clock.advance(ms);
  }
}

async function pastBudget(): Promise<number> {
  const keeps = async (tokens: number): Promise<boolean> => {
    const { agent, model } = arcAgent(['x'.repeat(tokens * 4), 'ok']);
    await agent.call('q');
    await agent.call('q');
    return model.requests[1]!.messages.length === 3;
  };
  // The two questions have one token each.
  return (await largest(keeps, [1_000, 200_000])) + 2;
}

async function shownOf(documents: readonly RetrievedDocument[]): Promise<string> {
  const model = new ScriptedModel(['ok']);
  const retriever = { retrieve: async () => documents };
  await new ReActAgent({
    name: 'a',
    model,
    use: [retrieval({ retriever, onError: () => {} })],
  }).call('Hi');
  const text = JSON.stringify(model.requests[0]!.messages[0]!.content[0]);
  return /<retrieved_context>\\n(.*)\\n<\/retrieved_context>/.exec(text)?.[1] ?? '';
}

/** Returns the lowest score, in thousandths, with which the document `plain` is not the last. */
async function scoreNeeded(
  rerank: ReturnType<typeof keywordRerank>,
  others: readonly RetrievedDocument[],
): Promise<number> {
  const about = { query: 'tea', topK: 3, signal: new AbortController().signal };
  const isLast = async (score: number): Promise<boolean> =>
    (await rerank([...others, { id: 'plain', content: 'water', score: score / 1_000 }], about)).at(
      -1,
    )!.id === 'plain';
  return largest(isLast, [0, 3_000]);
}

async function similar(count: number, cosine: number): Promise<number> {
  const by = bySimilarity({
    embed: async (texts) =>
      texts.map((_, index) => (index ? [cosine, Math.sqrt(1 - cosine ** 2)] : [1, 0])),
  });
  const schemas = Array.from({ length: count }, (_, index) => ({
    name: `t${index}`,
    description: `${index}`,
    parameters: {},
  }));
  return (await by('Hi', schemas, { signal: new AbortController().signal })).length;
}

async function mcpWaits(): Promise<readonly number[]> {
  const waits: number[] = [];
  const failing = async (): Promise<Response> => Promise.reject(new TypeError('down'));
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  const told: unknown[] = [];
  const onError = (error: unknown): void => void told.push(error);
  await mcpTools({
    url: 'http://localhost:1',
    fetch: failing,
    optional: true,
    reconnect: { sleep },
    onError,
  });
  await clock.waitFor(() => expect(told.length > (waits.length === 5 ? 5 : 100)).toBe(true));
  return waits;
}

async function mcpConnectTime(): Promise<number> {
  const { begun, begin } = stall();
  return timeOf(mcpTools({ url: 'http://localhost:1', fetch: begin }), begun);
}

async function mcpOutput(): Promise<number> {
  const tools = await mcpTools({
    url: `${inject('mcpUrl')}/servers/${crypto.randomUUID()}/mcp`,
    include: ['long'],
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'long', input: { count: 70_000 } }] },
    'ok',
  ]);
  const agent = new ReActAgent({ name: 'a', model, tools });
  let agentCall: Promise<unknown> | undefined;
  const answered = new Promise<void>((resolve) => {
    agentCall = agent.call('Hi', { use: [{ on: { 'post-acting': () => resolve() } }] });
  });
  // The server is real. After its answer, the agent waits for a report of changed tools.
  await answered;
  await clock.advanceUntil(agentCall!);
  await tools.close();
  return /x+/.exec(JSON.stringify(model.requests[1]!.messages.at(-1)))![0].length;
}

async function breakerTimes() {
  const breaker = circuitBreaker();
  const without = ['rateLimit', 'retry'].map((name) => ({ name }));
  const { agent, model } = arcAgent([...many(50, { error: busy })], { use: [...without, breaker] });
  while (breaker.state === 'closed') await agent.call('Hi', { throwOnError: false });
  const failures = model.requests.length;
  const start = Date.now();
  while (breaker.state === 'open') await clock.advance(500);
  const openMs = Date.now() - start;
  const stuck = new ScriptedModel(many(9, { hang: true } as never));
  const others = Array.from(
    { length: 3 },
    () => new ReActAgent({ name: 'a', model: stuck, use: [breaker] }),
  );
  const signal = signalUntilTestEnd();
  for (const other of others) other.call('Hi', { signal }).catch(() => {});
  await clock.waitFor(() => expect(stuck.requests.length).toBeGreaterThan(0));
  return { failures, openMs, trials: stuck.requests.length };
}

/**
 * Functions that measure the defaults. The keys are the first column of the table in
 * `docs/guides/presets.md`. They run the code, because reading an option could not show that it has
 * an effect.
 */
const measured: Readonly<Record<string, () => Promise<number>>> = {
  async 'Tool calls in one call'() {
    let runs = 0;
    const { agent } = arcAgent([{ toolCalls: many(30).map(() => ({ name: 'look' })) }, 'ok'], {
      tools: [named('look', () => (runs += 1))],
    });
    await agent.call('Hi');
    return runs;
  },
  async 'Time limit of a call'() {
    const { begun, begin } = stall();
    const stuck = tool({
      name: 'stuck',
      description: '',
      input: {},
      timeoutMs: 300_000,
      execute: begin,
    });
    const { agent } = arcAgent([{ toolCalls: [{ name: 'stuck' }] }], { tools: [stuck] });
    return timeOf(agent.call('Hi'), begun);
  },
  async 'Time limit of a tool without its own'() {
    const { begun, begin } = stall();
    const { agent } = arcAgent([{ toolCalls: [{ name: 'stuck' }] }, 'ok'], {
      tools: [named('stuck', begin)],
    });
    return timeOf(agent.call('Hi'), begun);
  },
  async 'Concurrent calls'() {
    const stuck = vi.fn(() => never);
    const model = new ScriptedModel(many(50, { toolCalls: [{ name: 'stuck' }] }));
    const preset = arcReactor();
    const signal = signalUntilTestEnd();
    for (let n = 0; n < 50; n += 1) {
      const agent = new ReActAgent({
        name: 'a',
        model,
        use: [preset],
        tools: [named('stuck', stuck)],
        userId: `u${n}`,
      });
      agent.call('Hi', { signal }).catch(() => {});
    }
    await clock.waitFor(() => expect(stuck.mock.calls.length).toBeGreaterThan(0));
    for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
    return stuck.mock.calls.length;
  },
  async 'Tools in one request'() {
    const { agent, model } = arcAgent(['ok'], {
      tools: Array.from({ length: 50 }, (_, n) => named(`t${n}`)),
    });
    await agent.call('Hi');
    return model.requests[0]!.tools.length;
  },
  async 'Tries per request'() {
    const { agent, model } = arcAgent(many(20, { error: busy }));
    agent.call('Hi').catch(() => {});
    await clock.advance(25_000);
    return model.requests.length;
  },
  'Wait before the second try': async () => (await retryWaits(undefined, 0.5))[0]!,
  'Wait before the third try': async () => (await retryWaits(undefined, 0.5))[1]!,
  'Longest wait': async () => Math.max(...(await retryWaits(10, 0.5))),
  'Jitter of a wait': async () => (1_000 - (await retryWaits(undefined, 0))[0]!) / 10,
  async 'Context window'() {
    const { agent, model } = arcAgent(['ok']);
    await agent.call('Hi');
    return (await pastBudget()) + model.requests[0]!.maxTokens!;
  },
  async 'Tokens of an answer, at most'() {
    const { agent, model } = arcAgent(['ok']);
    await agent.call('Hi');
    return model.requests[0]!.maxTokens!;
  },
  async Temperature() {
    const { agent, model } = arcAgent(['ok']);
    await agent.call('Hi');
    return model.requests[0]!.temperature!;
  },
  async 'Earlier turns in a request'() {
    const { agent, model } = arcAgent(many(30), { use: [{ name: 'rateLimit' }] });
    for (let n = 0; n < 30; n += 1) await agent.call('Hi');
    return model.requests[29]!.messages.filter(({ role }) => role === 'user').length - 1;
  },
  'Calls per user and minute': () => callsEach(5_000),
  'Calls per user and hour': () => callsEach(7_000),
  'Characters of an input, at most': () =>
    largest(
      async (size) => (await arcAgent(['ok']).agent.call('x'.repeat(size))).reason === 'stop',
      [1, 50_000],
    ),
  async 'Characters of an input, at least'() {
    const isBlankRefused =
      (await arcAgent(['ok']).agent.call(userMessage(' '))).reason === 'rejected';
    return isBlankRefused && (await arcAgent(['ok']).agent.call('x')).reason === 'stop' ? 1 : 0;
  },
  '`circuitBreaker()`: failures in a row that open it': async () => (await breakerTimes()).failures,
  '`circuitBreaker()`: time it stays open': async () => (await breakerTimes()).openMs,
  '`circuitBreaker()`: trials while half open': async () => (await breakerTimes()).trials,
  '`retrieval()`: minimum score': async () =>
    1 -
    (await largest(
      async (size) => (await shownOf([{ content: 'x', score: 1 - size / 100 }])) !== '',
      [0, 100],
    )) /
      100,
  '`retrieval()`: documents per search': async () =>
    (await shownOf(many(50).map((_, n) => ({ content: `x${n}` })))).split('---').length,
  '`retrieval()`: tokens of all documents': async () => {
    const text = await shownOf([{ content: 'x'.repeat(100_000) }]);
    return estimateTokens(JSON.parse(`"${text}"`) as string);
  },
  '`keywordRerank()`: weight of the words': async () => {
    const edge = await scoreNeeded(keywordRerank(), [{ content: 'tea', score: 0 }]);
    return edge / (1_000 + edge);
  },
  '`mmrRerank()`: weight of the score': async () => {
    // The document `plain` has the same text as the document that is chosen first. Only its score
    // can move it from the last place.
    const edge = await scoreNeeded(mmrRerank(), [
      { content: 'water', score: 9 },
      { content: 'tea', score: 0 },
    ]);
    return 1_000 / (1_000 + edge);
  },
  '`bySimilarity()`: minimum cosine': async () => {
    const chosen = await largest(
      async (size) => (await similar(11, 1 - size / 100)) === 10,
      [0, 100],
    );
    return 1 - chosen / 100;
  },
  '`bySimilarity()`: tools': () => similar(50, 0.9),
  '`mcpTools()`: time limit to connect': mcpConnectTime,
  '`mcpTools()`: characters of a result': mcpOutput,
  '`mcpTools()`: tries to reconnect': async () => (await mcpWaits()).length,
  '`mcpTools()`: first wait': async () => (await mcpWaits())[0]!,
  '`mcpTools()`: longest wait': async () => Math.max(...(await mcpWaits())),
  '`jsonMode()`: repairs of an answer': async () => {
    const { agent, model } = arcAgent(many(9, 'no JSON'));
    await agent.call('Hi', { output: jsonMode(), throwOnError: false });
    return model.requests.length - 1;
  },
};

/** Rows of the page's table, with the values as numbers: `30,000 ms` becomes 30000. */
const rows = [
  ...readPage('docs/guides/presets.md')
    .split(/<!-- (?:arc-reactor|end of the) defaults -->/)[1]!
    .matchAll(/^\| ([^|]+?) +\| ([\d.,]+)[^|]*\|/gm),
]
  .map(([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))] as const)
  .filter(([, value]) => !Number.isNaN(value));

test('the page about presets lists exactly the measured defaults', () => {
  expect(rows.map(([name]) => name)).toEqual(Object.keys(measured));
});

test.each(rows)('%s: %d', async (name, value) => {
  expect(await measured[name]!()).toBeCloseTo(value, 2);
});
