import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { AgentError } from '../error/agent-error.ts';
import type { AgentEvent } from '../hook/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { toolResultsOf } from '../message/message-text.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { contextToken, provide } from '../tool/context-token.ts';
import { tool, type ToolContext } from '../tool/tool.ts';
import { Toolkit } from '../tool/toolkit.ts';
import type { AgentOptions } from './agent-options.ts';
import { ReActAgent } from './react-agent.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const input = z.object({});
const calls = (...names: string[]): ScriptedReply => ({ toolCalls: names.map((name) => ({ name })) });

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  return { model, agent: new ReActAgent({ name: 'a', model, ...options }) };
}

const results = async (agent: ReActAgent) =>
  (await agent.messages()).flatMap(toolResultsOf).map(({ name, state, output }) => `${name} ${state} ${String(output)}`);

/** Tools that never end. `started` resolves when `count` of them run. */
function endless(count: number) {
  const signals: AbortSignal[] = [];
  let resolve!: () => void;
  const started = new Promise<void>((done) => (resolve = done));
  const never = (name: string, timeoutMs?: number) =>
    tool({
      name,
      description: '',
      input,
      ...(timeoutMs !== undefined && { timeoutMs }),
      execute(_input, { signal }) {
        if (signals.push(signal) === count) resolve();
        return new Promise<string>(() => {});
      },
    });
  return { never, started, signals };
}

const fails = (name: string, error: Error) =>
  tool({
    name,
    description: '',
    input,
    execute: () => {
      throw error;
    },
  });

test('a tool has five minutes, or what it says; its signal is raised when they are over', async () => {
  const { never, started, signals } = endless(2);
  const { agent } = setUp([calls('slow', 'quick'), 'done'], { tools: [never('slow'), never('quick', 10)] });
  const run = agent.call('go');
  await started;
  await vi.advanceTimersByTimeAsync(10);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  await vi.advanceTimersByTimeAsync(300_000 - 11);
  expect(signals[0]!.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await run;
  expect(signals[0]!.reason).toMatchObject({ code: 'TOOL_TIMEOUT' });
  expect(await results(agent)).toEqual([
    'quick error Error: Tool "quick" timed out after 10 ms',
    'slow error Error: Tool "slow" timed out after 300000 ms',
  ]);
});

test('an error result leaves the sibling calls alone, a fatal failure cancels them and ends the call', async () => {
  const { never, started, signals } = endless(1);
  const tools = [fails('broken', new Error('no disk')), fails('fatal', new AgentError('TOOL_ERROR', 'on fire')), never('sibling', 50)];
  const mild = setUp([calls('sibling', 'broken'), 'done'], { tools });
  const run = mild.agent.call('go');
  await started;
  await vi.advanceTimersByTimeAsync(49);
  expect(signals[0]!.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect((await run).text).toBe('done');

  const fatal = setUp([calls('sibling', 'fatal')], { tools });
  await expect(fatal.agent.call('go')).rejects.toMatchObject({ code: 'TOOL_ERROR', message: 'on fire' });
  expect(signals[1]!.aborted).toBe(true);
});

test('a store that fails in the middle of a batch cancels the rest', async () => {
  const { never, signals } = endless(1);
  class Full extends InMemoryMemory {
    override async append(...args: Parameters<InMemoryMemory['append']>): Promise<void> {
      if (args[0].some(({ role }) => role === 'tool')) throw new AgentError('STORAGE_QUOTA', 'full');
      return super.append(...args);
    }
  }
  const quick = tool({ name: 'quick', description: '', input, execute: () => 'ok' });
  const { agent } = setUp([calls('sibling', 'quick')], { tools: [never('sibling', 50), quick], memory: new Full() });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('unknown, inactive and not allowed tools, and arguments that do not fit, are told apart', async () => {
  const off = tool({ name: 'off', description: '', input, group: 'admin', execute: () => 'ran' });
  const strict = tool({ name: 'strict', description: '', input: z.object({ n: z.number() }), execute: () => 'ran' });
  const free = tool({ name: 'free', description: '', input, execute: () => 'ran' });
  const tools = new Toolkit([off, strict, free], { groups: [{ name: 'admin', description: '', active: false }] });
  const reply: ScriptedReply = {
    toolCalls: [
      { name: 'nobody' },
      { name: 'off' },
      { name: 'strict', input: '{"n": 1' },
      { name: 'strict', input: { n: 'x' } },
      { name: 'free' },
    ],
  };
  const { agent, model } = setUp([reply, 'done'], { tools });
  await agent.call('go', { allowTools: ['off', 'strict'] });
  expect(await results(agent)).toEqual([
    'nobody error Error: Tool not found: nobody. Available: strict.',
    expect.stringMatching(/^off error Error: Tool not available: off\. .*admin/),
    expect.stringMatching(/^strict error Error: The arguments of "strict".*\n- they are not valid JSON/),
    expect.stringMatching(/^strict error Error: The arguments of "strict".*\n- n: /),
    expect.stringMatching(/^free error Error: Tool not allowed/),
  ]);
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['strict']);
});

test('progress goes to hooks and readers, never to the model', async () => {
  const chatty = tool({
    name: 'chatty',
    description: '',
    input,
    execute: (_input, { emit }) => {
      emit({ step: 'secret progress' });
      return 'ok';
    },
  });
  const heard: AgentEvent[] = [];
  const { agent, model } = setUp([calls('chatty'), 'done'], {
    tools: [chatty],
    hooks: [{ on: { 'acting-chunk': (event) => void heard.push(event) } }],
  });
  const read: AgentEvent[] = [];
  for await (const event of agent.stream('go')) if (event.type === 'acting-chunk') read.push(event);
  expect(read).toMatchObject([{ chunk: { step: 'secret progress' } }]);
  expect(heard).toEqual(read);
  expect(JSON.stringify(model.requests)).not.toContain('secret progress');
});

test('context: the call wins over the agent, the agent over the toolkit; none is a clear error', async () => {
  const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((name) => contextToken<string>(name)) as [never, never, never, never];
  const show = tool({
    name: 'show',
    description: '',
    input,
    execute: (_input, { get }: ToolContext) => [A, B, C].map((token) => get<string>(token)).join(' '),
  });
  const lacks = tool({ name: 'lacks', description: '', input, execute: (_input, { get }) => get<string>(D) });
  const from = (who: string, ...tokens: never[]) => tokens.map((token) => provide<string>(token, who));
  const tools = new Toolkit([show, lacks], { context: from('toolkit', A, B, C) });
  const { agent } = setUp([calls('show', 'lacks'), 'done', calls('show'), 'done'], { tools, toolContext: from('agent', B, C) });
  await agent.call('go', { context: from('call', C) });
  expect((await results(agent)).toSorted()).toEqual(['lacks error Error: Nothing is provided for "d".', 'show success toolkit agent call']);
  await agent.call('again');
  expect((await results(agent)).at(-1)).toBe('show success toolkit agent agent');
});
