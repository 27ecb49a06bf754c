import { InMemoryMemory, MemoryStore, SessionMemory, tool } from '@isoloop/core';
import type { OxygentOptions } from '@isoloop/presets';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { calls, echo, echoes, list, observed, said, setUp } from './test-support.ts';

describe('the memory', () => {
  /** Runs two agent calls with one step each, then returns what the third one sees of them. */
  async function history(preset: OxygentOptions, steps: readonly [string, string] = ['1', '2']) {
    const [one, two] = steps;
    const { model, agent } = setUp([echoes(one), 'a1', echoes(two), 'a2', 'a3'], {
      preset: { discardReactMemory: false, ...preset },
    });
    for (const question of ['q1', 'q2', 'q3']) await agent.call(question);
    return said(model, 4).slice(0, -1);
  }
  const step = (text: string) => [`assistant: ${echoes(text)}`, `user: ${observed('echo', text)}`];
  const sizeOf = (text: string) => [...echoes(text), ...observed('echo', text)].length;

  test('keeps a step that fills its size exactly, counted in code points', async () => {
    const emoji = '😀漢字';
    const memoryMax = 8 + sizeOf(emoji);
    expect(await history({ memoryMax }, ['1', emoji])).toEqual([
      'user: q1',
      'assistant: a1',
      'user: q2',
      ...step(emoji),
      'assistant: a2',
    ]);
  });

  test('stops at the first step that does not fit, even if an older one would fit', async () => {
    const memoryMax = 8 + sizeOf('a much longer text') - 1;
    expect(await history({ memoryMax }, ['1', 'a much longer text'])).toEqual([
      'user: q1',
      'assistant: a1',
      'user: q2',
      'assistant: a2',
    ]);
  });

  test('counts a list of calls and its results as one step, also after a restart', async () => {
    const both = list(echoes('a'), echoes('b'));
    const results = `${observed('echo', 'a')}\n\n${observed('echo', 'b')}`;
    const size = 4 + both.length + results.length;
    const store = new MemoryStore();
    const memory = () => new SessionMemory(store, 'ann');
    await setUp([`<think>Both.</think>${both}`, 'a1'], { memory: memory() }).agent.call('q1');
    for (const [memoryMax, steps] of [
      [size, [`assistant: ${both}`, `user: ${results}`]],
      [size - 1, []],
    ] as const) {
      const preset = { discardReactMemory: false, memoryMax, shortMemorySize: 1 };
      const copy = new InMemoryMemory(await memory().read());
      const { model, agent } = setUp(['a2'], { preset, memory: copy });
      await agent.call('q2');
      expect(said(model, 0)).toEqual(['user: q1', ...steps, 'assistant: a1', 'user: q2']);
    }
  });

  test('counts an invalid reply and its correction as one step', async () => {
    const replies = ['{"a": 1}', 'a1', 'a2'];
    const probe = setUp(replies, { preset: { discardReactMemory: false } });
    await probe.agent.call('q1');
    const correction = said(probe.model, 1).at(-1)?.slice('user: '.length) ?? '';
    const size = 4 + '{"a": 1}'.length + correction.length;
    for (const memoryMax of [size, size - 1]) {
      const { model, agent } = setUp(replies, { preset: { discardReactMemory: false, memoryMax } });
      await agent.call('q1');
      await agent.call('q2');
      expect(said(model, 2)).toHaveLength(memoryMax === size ? 5 : 3);
    }
  });

  test('shows no step whose questions are all left out', async () => {
    const memoryMax = 4 + 2 * sizeOf('1');
    expect(await history({ shortWeight: 1, reactWeight: 10, memoryMax })).toEqual([
      'user: q2',
      ...step('2'),
      'assistant: a2',
    ]);
  });

  test('shows another process the steps of a stored session as the model wrote them', async () => {
    const store = new MemoryStore();
    const preset = { discardReactMemory: false };
    const memory = () => new SessionMemory(store, 'ann');
    const written = `I look: {"tool_name":"echo",  "arguments":{"text":"x"}} ok?`;
    const first = setUp([`<think>Hm.</think>${written}`, 'a1'], { preset, memory: memory() });
    await first.agent.call('q1');
    const second = setUp(['a2'], { preset, memory: memory() });
    await second.agent.call('q2');
    expect(said(second.model, 0)).toEqual([
      'user: q1',
      `assistant: ${written}`,
      `user: ${observed('echo', 'x')}`,
      'assistant: a1',
      'user: q2',
    ]);
  });

  test('shows a corrected reply with its correction among the kept steps', async () => {
    const { model, agent } = setUp(['{"a": 1}', 'a1', 'a2'], {
      preset: { discardReactMemory: false },
    });
    await agent.call('q1');
    await agent.call('q2');
    const shown = said(model, 2);
    expect(shown[1]).toBe('assistant: {"a": 1}');
    expect(shown.slice(3)).toEqual(['assistant: a1', 'user: q2']);
  });

  test('leaves out agent calls that failed or were interrupted', async () => {
    const { model, agent } = setUp([{ error: new Error('Down.') }, echoes('x'), 'Here I am.']);
    await agent.call('q1', { throwOnError: false });
    const remove = agent.addHook({ on: { 'post-acting': () => void agent.interrupt() } });
    expect((await agent.call('q2')).reason).toBe('interrupted');
    remove();
    await agent.call('q3');
    expect(said(model, 2)).toEqual(['user: q3']);
  });

  test('has one question and answer of an agent call that was suspended in between', async () => {
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    for (const discardReactMemory of [true, false]) {
      const { model, agent } = setUp([echoes('x'), calls('ask'), 'a1', 'a2'], {
        preset: { discardReactMemory },
        tools: [echo, ask],
      });
      const [question] = (await agent.call('q1')).pending;
      await agent.call([{ toolUseId: question?.toolUseId ?? '', type: 'result', output: 'Yes.' }]);
      await agent.call('q2');
      const steps = [
        ...step('x'),
        `assistant: ${calls('ask')}`,
        `user: ${observed('ask', 'Yes.')}`,
      ];
      expect(said(model, 3)).toEqual([
        'user: q1',
        ...(discardReactMemory ? [] : steps),
        'assistant: a1',
        'user: q2',
      ]);
    }
  });

  test('has the answer to a question that was interrupted and then continued', async () => {
    const { model, agent } = setUp([echoes('x'), 'a1', 'a2'], { preset: { shortMemorySize: 1 } });
    const remove = agent.addHook({ on: { 'post-acting': () => void agent.interrupt() } });
    await agent.call('q1');
    remove();
    await agent.call();
    await agent.call('q2');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'x')}`);
    expect(said(model, 2)).toEqual(['user: q1', 'assistant: a1', 'user: q2']);
  });

  test('has no earlier agent calls if its size is 0', async () => {
    const presets = [
      { shortMemorySize: 0 },
      { shortMemorySize: 0, discardReactMemory: false },
      { memoryMax: 0, discardReactMemory: false },
    ];
    for (const preset of presets) {
      const { model, agent } = setUp([echoes('x'), 'a1', 'a2'], { preset });
      await agent.call('q1');
      await agent.call('q2');
      expect(said(model, 2)).toEqual(['user: q2']);
    }
  });

  test('has the answer of an agent call when the next one in the queue starts', async () => {
    const { model, agent } = setUp(['a1', 'a2'], { whenBusy: 'queue' });
    await Promise.all([agent.call('q1'), agent.call('q2')]);
    expect(said(model, 1)).toEqual(['user: q1', 'assistant: a1', 'user: q2']);
  });

  test('keeps native tool calls with their results, within its size', async () => {
    const native = (text: string) => ({ toolCalls: [{ name: 'echo', input: { text } }] });
    const shown = async (memoryMax: number) => {
      const { model, agent } = setUp([native('1'), 'a1', native('2'), 'a2', 'a3'], {
        preset: { protocol: false, discardReactMemory: false, memoryMax },
      });
      for (const question of ['q1', 'q2', 'q3']) await agent.call(question);
      return model.requests[4]?.messages.map(({ role }) => role).join(' ');
    };
    const qa = 'user assistant';
    const kept = 'user assistant tool assistant';
    expect(await shown(24_800)).toBe(`${kept} ${kept} user`);
    expect(await shown(8)).toBe(`${qa} ${qa} user`);
    expect(await shown(7)).toBe(`${qa} user`);
  });

  test('has earlier turns of messages that the agent was given', async () => {
    const other = setUp([echoes('x'), 'a1']);
    await other.agent.call('q1');
    const memory = new InMemoryMemory(await other.agent.messages());
    const { model, agent } = setUp(['a2'], { memory });
    await agent.call('q2');
    expect(said(model, 0)).toEqual(['user: q1', 'assistant: a1', 'user: q2']);
  });
});
