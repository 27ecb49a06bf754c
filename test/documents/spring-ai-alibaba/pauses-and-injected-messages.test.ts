import { MemoryStore, SessionMemory, textOf, toolUsesOf } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { approvals } from '@isoloop/core/approval';
import type { PositionHook } from '@isoloop/presets';
import { describe, expect, test } from 'vitest';
import { alibaba, calls, lines, noting, notingHook, sent } from './test-support.ts';

describe('pauses and injected messages', () => {
  const pause = { mode: 'pause' } as const;

  test('a pause during the tools lets all tools of the reply finish and stops before the model', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('first', 'second'), 'ok'], {
      tools: [
        noting(log, 'first', { run: (_input, context) => void context.interrupt(pause) }),
        noting(log, 'second'),
      ],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const paused = await agent.call('q');
    const before = [...log];
    const resumed = await agent.call();

    expect([paused.reason, paused.pending, model.requests.length]).toEqual(['suspended', [], 2]);
    expect(before).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'first', 'second']);
    expect(log.slice(before.length)).toEqual(['h.beforeModel', 'h.afterModel', 'h.afterAgent']);
    expect(resumed.text).toBe('ok');
  });

  test('a pause that a hook before the agent asks for stops before the first request', async () => {
    let asked = false;
    const { model, agent } = alibaba(['ok'], {
      preset: {
        hooks: [
          {
            name: 'h',
            beforeAgent(_event, run) {
              asked = run.ending.interrupt(pause);
            },
          },
        ],
      },
    });

    const paused = await agent.call('问题');
    const requests = model.requests.length;
    const resumed = await agent.call();

    expect([asked, paused.reason, requests]).toEqual([true, 'suspended', 0]);
    expect([resumed.reason, sent(model.requests[0])]).toEqual(['stop', ['user: 问题']]);
  });

  test('a pause that a hook after the model asks for runs the tools of the reply first', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          {
            name: 'h',
            afterModel({ message }, run) {
              if (toolUsesOf(message).length > 0) run.ending.interrupt(pause);
            },
          },
        ],
      },
    });

    const paused = await agent.call('q');
    const before = [...log];
    const resumed = await agent.call();

    expect([paused.reason, before]).toEqual(['suspended', ['look']]);
    expect([resumed.text, log, model.requests.length]).toEqual(['ok', ['look'], 2]);
  });

  test('two pauses of an idle agent pause its next call once', async () => {
    const { model, agent } = alibaba(['one', 'two']);

    const accepted = [agent.interrupt(pause), agent.interrupt(pause)];
    const paused = await agent.call('q');
    const resumed = await agent.call();
    const next = await agent.call('r');

    expect(accepted).toEqual([true, true]);
    expect(paused.reason).toBe('suspended');
    expect([resumed.text, next.text]).toEqual(['one', 'two']);
    expect(sent(model.requests[0])).toEqual(['user: q']);
  });

  test('messages that a hook injects beside an approval wait until the tool calls have results', async () => {
    const { model, agent } = alibaba([calls('pay'), 'ok'], {
      tools: [noting([], 'pay')],
      use: [approvals({ needsApproval: { pay: true } })],
      preset: {
        hooks: [
          {
            name: 'h',
            afterModel({ message }, run) {
              if (toolUsesOf(message).length > 0)
                run.ending.interrupt({ mode: 'inject', messages: '小心' });
            },
          },
        ],
      },
    });

    const asked = await agent.call('q');
    await agent.call([{ toolUseId: 'pay-id', type: 'approve' }]);

    expect(asked.reason).toBe('suspended');
    expect(sent(model.requests[1])).toEqual([
      'user: q',
      'assistant: pay({})',
      'tool: pay=pay done',
      'user: 小心',
    ]);
  });

  test('a pause that a hook before the model asks for sends no request, and the hook runs again', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      preset: {
        hooks: [
          notingHook(log, 'h', {
            beforeModel(_event, run) {
              if (log.push('h.beforeModel') === 2) run.ending.interrupt(pause);
            },
          }),
        ],
      },
    });

    const paused = await agent.call('q');
    const requests = model.requests.length;
    const resumed = await agent.call();

    expect([paused.reason, requests, resumed.text]).toEqual(['suspended', 0, 'ok']);
    expect(log).toEqual([
      'h.beforeAgent',
      'h.beforeModel',
      'h.beforeModel',
      'h.afterModel',
      'h.afterAgent',
    ]);
  });

  test('a pause between two deltas drops the partial reply when the call continues', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['一 二 三', '完整'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const stream = agent.stream('q');
    for await (const { type } of stream) if (type === 'reasoning-chunk') agent.interrupt(pause);
    const paused = await stream.result;
    const resumed = await agent.call();

    expect([paused.reason, resumed.text]).toEqual(['suspended', '完整']);
    expect(sent(model.requests[1])).toEqual(['user: q']);
    expect(lines(await agent.messages())).toEqual(['user: q', 'assistant: 完整']);
    expect(log.filter((entry) => entry === 'h.afterModel')).toHaveLength(1);
  });

  test('a pause that comes with the last reply does not stop the call, nor the next one', async () => {
    let pauses = 0;
    const once: PositionHook = {
      name: 'h',
      afterModel(_event, run) {
        if (pauses++ === 0) run.ending.interrupt(pause);
      },
    };
    const { agent } = alibaba(['one', 'two'], { preset: { hooks: [once] } });

    const first = await agent.call('q');
    const second = await agent.call('r');

    expect([first.reason, first.text]).toEqual(['stop', 'one']);
    expect([second.reason, second.text]).toEqual(['stop', 'two']);
  });

  test('a new message continues a paused call after its input', async () => {
    const { model, agent } = alibaba(['ok']);
    agent.interrupt(pause);
    await agent.call('问');

    const { reason } = await agent.call('再问');

    expect(reason).toBe('stop');
    expect(sent(model.requests[0])).toEqual(['user: 问', 'user: 再问']);
  });

  test('a message that is injected during the last reply asks the model once more', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['one', 'two'], {
      preset: {
        hooks: [
          notingHook(log, 'h', {
            afterModel({ message }, run) {
              if (textOf(message) === 'one')
                run.ending.interrupt({ mode: 'inject', messages: '还有' });
            },
          }),
        ],
      },
    });

    const { text } = await agent.call('q');

    expect(text).toBe('two');
    expect(sent(model.requests[1])).toEqual(['user: q', 'assistant: one', 'user: 还有']);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.beforeModel', 'h.afterAgent']);
  });

  test('a pause of the parent lets its child agent finish', async () => {
    const child = alibaba([calls('look'), '孩子完了'], {
      name: 'child',
      tools: [noting([], 'look', { run: () => void agent.interrupt(pause) })],
    });
    const asks = { toolCalls: [{ name: 'call_child', input: { message: 'm' } }] };
    const { model, agent } = alibaba([asks, 'ok'], {
      tools: [agentTool(child.agent, { description: 'helps' })],
    });

    const paused = await agent.call('q');
    const resumed = await agent.call();

    expect([paused.reason, resumed.text]).toEqual(['suspended', 'ok']);
    expect(sent(model.requests[1]).at(-1)).toContain('孩子完了');
    child.model.assertDone();
  });
});
