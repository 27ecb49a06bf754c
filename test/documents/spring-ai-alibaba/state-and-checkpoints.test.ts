import { MemoryStore, SessionMemory, toolUsesOf } from '@isoloop/core';
import { approvals } from '@isoloop/core/approval';
import { modelRequestLimit } from '@isoloop/core/limits';
import type { PositionHook } from '@isoloop/presets';
import { structured } from '@isoloop/core/output';
import {
  appendKey,
  listCheckpoints,
  loadState,
  mergeKey,
  replaceKey,
  returnToCheckpoint,
  saveState,
  stateKeys,
} from '@isoloop/core/state';
import type { ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { alibaba, calls, lines, noting, notingHook, sent } from './test-support.ts';

describe('state and checkpoints', () => {
  test('hooks at all positions and parallel tools update one state by its strategies', async () => {
    const state = stateKeys({
      last: replaceKey<string>(),
      trail: appendKey<string>(),
      counts: mergeKey<Record<string, number>>(),
    });
    const write = (name: string) => (event: { readonly runId: string }) =>
      state.of(event).write({ last: name, trail: name, counts: { [name]: 1 } });
    const writing = (name: string) =>
      noting([], name, {
        run: (_input, context) => {
          state.of(context).write({ trail: [name], counts: { [name]: 2 } });
          return name;
        },
      });
    const { model, agent } = alibaba([calls('x', 'y'), 'ok', 'again'], {
      systemPrompt: 'last: {last}',
      tools: [writing('x'), writing('y')],
      preset: {
        state,
        parallelToolExecution: true,
        hooks: [
          {
            name: 'h',
            beforeAgent: write('beforeAgent'),
            beforeModel: write('beforeModel'),
            afterModel: write('afterModel'),
            afterAgent: write('afterAgent'),
          },
        ],
      },
    });

    await agent.call('q');
    const values = state.of(agent).all();
    await agent.call('r');

    const round = ['beforeModel', 'afterModel'];
    expect(values.trail).toEqual(['beforeAgent', ...round, 'x', 'y', ...round, 'afterAgent']);
    expect(values.counts).toMatchObject({ x: 2, y: 2, afterAgent: 1 });
    expect(values.last).toBe('afterAgent');
    expect(sent(model.requests[0])[0]).toBe('system: last: beforeAgent');
    expect(sent(model.requests[2])[0]).toBe('system: last: beforeAgent');
  });

  test('the output key holds the answer after the hooks, a typed value, and nothing of a suspended call', async () => {
    const state = stateKeys(
      { question: replaceKey<string>(), answer: replaceKey<unknown>() },
      { inputKey: 'question', outputKey: 'answer' },
    );
    const shout: PositionHook = {
      name: 'shout',
      afterAgent: (event) => ({
        ...event,
        message: { ...event.message, content: [{ type: 'text', text: '改过的答' }] },
      }),
    };
    const { agent } = alibaba(['答', '{"n":1}', calls('pay')], {
      tools: [noting([], 'pay')],
      preset: { state, hooks: [shout] },
      use: [approvals({ needsApproval: { pay: true } })],
    });
    const seen: unknown[] = [];
    const look = () => seen.push({ ...state.of(agent).all() });

    await agent.call('问');
    look();
    await agent.call('数', { output: structured({ type: 'object' }, { mode: 'prompt' }) });
    look();
    await agent.call('付');
    look();

    expect(seen).toEqual([
      { question: '问', answer: '改过的答' },
      { question: '数', answer: { n: 1 } },
      { question: '付', answer: { n: 1 } },
    ]);
  });

  test('two threads of one store stay apart, and two agents on one thread share it', async () => {
    const store = new MemoryStore();
    const state = stateKeys({ names: appendKey<string>() });
    const open = (thread: string, replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        sessionId: thread,
        memory: new SessionMemory(store, thread),
        systemPrompt: '{names}',
        preset: {
          state,
          hooks: [{ name: 'h', afterAgent: (event) => state.of(event).write({ names: thread }) }],
        },
      });

    await open('甲', ['1']).agent.call('我是甲');
    await open('乙', ['2']).agent.call('我是乙');
    const again = open('甲', ['3']);
    await again.agent.call('我是谁?');

    expect(sent(again.model.requests[0])).toEqual([
      'system: ["甲"]',
      'user: 我是甲',
      'assistant: 1',
      'user: 我是谁?',
    ]);
  });

  test('there is a checkpoint after each node, and a return to one before the tools runs them again', async () => {
    const log: string[] = [];
    const state = stateKeys({ trail: appendKey<string>() });
    const { model, agent } = alibaba([calls('look'), 'one', 'two'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      tools: [
        noting(log, 'look', {
          run: (_input, context) => {
            state.of(context).write({ trail: `run ${log.length}` });
            return `look ${log.length}`;
          },
        }),
      ],
      preset: { state },
    });
    await agent.call('q');

    const checkpoints = await listCheckpoints(agent);
    const replied = checkpoints.find(({ message }) => toolUsesOf(message).length > 0);
    await returnToCheckpoint(agent, replied!.id);
    const { text } = await agent.call();

    expect(checkpoints.map(({ message }) => message.role)).toEqual(
      expect.arrayContaining(['user', 'assistant', 'tool']),
    );
    expect([text, log]).toEqual(['two', ['look', 'look']]);
    expect(sent(model.requests[2]).at(-1)).toBe('tool: look=look 2');
    expect(state.of(agent).read('trail')).toEqual(['run 2']);
  });

  test('a saved state carries an open approval and the values to another agent', async () => {
    const log: string[] = [];
    const state = stateKeys({ city: replaceKey<string>() });
    const open = (replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        systemPrompt: '{city}',
        tools: [noting(log, 'look'), noting(log, 'pay')],
        use: [approvals({ needsApproval: { pay: true } })],
        preset: {
          state,
          hooks: [{ name: 'h', beforeAgent: (event) => state.of(event).write({ city: '首尔' }) }],
        },
      });
    const first = open([calls('look', 'pay')]);
    await first.agent.call('q');

    const { model, agent } = open(['ok']);
    await loadState(agent, JSON.parse(JSON.stringify(await saveState(first.agent))));
    await agent.call([{ toolUseId: 'pay-id', type: 'approve' }]);

    expect(log).toEqual(['look', 'pay']);
    expect(sent(model.requests[0])[0]).toBe('system: 首尔');
  });

  test('the state of the preset and further stateKeys() work in one agent', async () => {
    const state = stateKeys({ city: replaceKey('首尔') });
    const more = stateKeys({ count: replaceKey(0) });
    const { model, agent } = alibaba(['ok'], {
      systemPrompt: '{city} {count}',
      preset: {
        state,
        hooks: [{ name: 'h', beforeAgent: (event) => more.of(event).write({ count: 1 }) }],
      },
      use: [more],
    });

    await agent.call('q');

    expect(sent(model.requests[0])[0]).toBe('system: 首尔 {count}');
    expect([state.of(agent).all(), more.of(agent).all()]).toEqual([{ city: '首尔' }, { count: 1 }]);
  });

  test('after a return to an earlier input, only the hooks after the agent still run once', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('look'), 'one', 'two', 'three'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      tools: [noting([], 'look')],
      preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
    });
    await agent.call('q');
    const checkpoints = await listCheckpoints(agent);
    log.length = 0;

    await returnToCheckpoint(agent, checkpoints[0]!.id);
    await agent.call();
    await returnToCheckpoint(agent, checkpoints.at(-1)!.id);
    await agent.call('r');

    expect(checkpoints.map(({ reason }) => reason ?? 'open')).toEqual([
      'open',
      'open',
      'open',
      'stop',
    ]);
    expect(log).toEqual(['h.afterAgent', 'h.beforeAgent', 'h.afterAgent']);
    expect(lines(await agent.messages()).slice(-3)).toEqual([
      'assistant: one',
      'user: r',
      'assistant: three',
    ]);
  });

  test('a return to a checkpoint also takes back the count of a thread limit', async () => {
    const { agent } = alibaba(['one', 'two', 'three'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      use: [modelRequestLimit({ session: 2 })],
    });
    await agent.call('a');
    const one = (await listCheckpoints(agent)).at(-1);
    await agent.call('b');

    const over = await agent.call('c');
    await returnToCheckpoint(agent, one!.id);
    const again = await agent.call('d');

    expect([over.reason, again.reason, again.text]).toEqual(['limit', 'stop', 'three']);
  });
});
