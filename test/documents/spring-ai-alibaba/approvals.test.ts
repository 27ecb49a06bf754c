import {
  assistantMessage,
  MemoryStore,
  outputText,
  SessionMemory,
  tool,
  type Decision,
} from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import type { PositionHook } from '@isoloop/presets';
import type { ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  alibaba,
  calls,
  lineOf,
  noting,
  notingHook,
  resultsIn,
  sent,
  toolUse,
} from './test-support.ts';

describe('approvals', () => {
  const approving = approvals({ needsApproval: { pay: '要付款', 'send*': true } });
  const decide = (name: string, rest: object): Decision =>
    ({ toolUseId: `${name}-id`, name, ...rest }) as Decision;

  test('a reply with an approval defers its other tool calls, and the decisions run only the unanswered ones', async () => {
    const log: string[] = [];
    const inputs: unknown[] = [];
    const { model, agent } = alibaba([calls('look', 'pay', 'send'), 'ok'], {
      tools: [
        noting(log, 'look'),
        noting(log, 'pay', { run: (input) => void inputs.push(input) }),
        noting(log, 'send'),
      ],
      use: [approving],
    });

    const asked = await agent.call('q');
    const before = [...log];
    await agent.call([
      decide('send', { type: 'reject', reason: '不要发' }),
      decide('pay', { type: 'edit', input: { amount: 5 } }),
    ]);

    expect(asked.reason).toBe('suspended');
    expect(asked.pending.map(({ name }) => name)).toEqual(['pay', 'send']);
    expect(asked.pending[0]?.reason).toBe('要付款');
    expect(before).toEqual([]);
    expect(log).toEqual(['look', 'pay']);
    expect(inputs).toEqual([{ amount: 5 }]);
    const messages = model.requests[1]!.messages;
    expect(lineOf(messages[1]!)).toBe('assistant: look({}) pay({"amount":5}) send({})');
    const results = resultsIn(messages);
    expect(results.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'look success',
      'pay success',
      'send denied',
    ]);
    expect(outputText(results[2]!.output)).toContain('不要发');
  });

  test('if all tool calls are rejected, the model is asked and no tool runs', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('pay', 'send'), 'ok'], {
      tools: [noting(log, 'pay'), noting(log, 'send')],
      use: [approving],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    await agent.call('q');
    log.length = 0;
    const { text } = await agent.call([
      decide('pay', { type: 'reject' }),
      decide('send', { type: 'reject' }),
    ]);

    expect(text).toBe('ok');
    expect(log).toEqual(['h.beforeModel', 'h.afterModel', 'h.afterAgent']);
    expect(model.requests).toHaveLength(2);
  });

  test('another agent on the same session carries out the decisions and the deferred calls', async () => {
    const store = new MemoryStore();
    const log: string[] = [];
    const open = (replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        sessionId: '会话',
        memory: new SessionMemory(store, '会话'),
        tools: [noting(log, 'look'), noting(log, 'pay')],
        use: [approving],
        preset: { hooks: [notingHook(log, 'h')] },
      });

    await open([calls('look', 'pay')]).agent.call('q');
    log.length = 0;
    const { model, agent } = open(['ok']);
    const { text } = await agent.call([decide('pay', { type: 'approve' })]);

    expect(text).toBe('ok');
    expect(log).toEqual(['look', 'pay', 'h.beforeModel', 'h.afterModel', 'h.afterAgent']);
    expect(resultsIn(model.requests[0]!.messages)).toHaveLength(2);
  });

  test('feedback with the name of another tool changes nothing', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('pay'), 'ok'], {
      tools: [noting(log, 'pay'), noting(log, 'send')],
      use: [approving],
    });

    await agent.call('q');
    const wrong = await agent.call([{ toolUseId: 'pay-id', name: 'send', type: 'approve' }], {
      throwOnError: false,
    });
    const right = await agent.call([decide('pay', { type: 'approve' })]);

    expect(wrong.error?.code).toBe('INVALID_DECISION');
    expect([right.text, log]).toEqual(['ok', ['pay']]);
  });

  test('an approval is asked for the tool calls that the hooks after the model leave', async () => {
    const log: string[] = [];
    const rename: PositionHook = {
      name: 'rename',
      afterModel: (event) => ({
        ...event,
        message: {
          ...event.message,
          content: event.message.content.map((block) =>
            block.type === 'tool_use' ? { ...block, name: 'pay' } : block,
          ),
        },
      }),
    };
    const { agent } = alibaba([calls('look')], {
      tools: [noting(log, 'look'), noting(log, 'pay')],
      use: [approving],
      preset: { hooks: [rename] },
    });

    const { reason, pending } = await agent.call('q');

    expect([reason, pending[0]?.name, log]).toEqual(['suspended', 'pay', []]);
  });

  test('a new message after closeOpenCalls closes the pending calls and is a new agent call', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('pay', 'look'), 'ok'], {
      tools: [noting(log, 'pay'), noting(log, 'look')],
      use: [approving, closeOpenCalls()],
      preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
    });

    await agent.call('付');
    await agent.call('算了');

    const results = resultsIn(model.requests[1]!.messages);
    expect(results.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'pay interrupted',
      'look interrupted',
    ]);
    expect(sent(model.requests[1]).at(-1)).toBe('user: 算了');
    expect(log).toEqual(['h.beforeAgent', 'h.beforeAgent', 'h.afterAgent']);
  });

  test('the approval of a child agent suspends the parent, and an approval continues both', async () => {
    const log: string[] = [];
    const child = alibaba([calls('pay'), '付了'], {
      name: 'cashier',
      tools: [noting(log, 'pay')],
      use: [approving],
    });
    const { model, agent } = alibaba(
      [{ toolCalls: [{ name: 'call_cashier', id: 'child', input: { message: '付' } }] }, 'ok'],
      { tools: [agentTool(child.agent, { description: 'pays' })] },
    );

    const asked = await agent.call('q');
    const done = await agent.call([{ toolUseId: 'child', type: 'approve' }]);

    expect([asked.reason, asked.pending.length]).toEqual(['suspended', 1]);
    expect([done.text, log]).toEqual(['ok', ['pay']]);
    expect(sent(model.requests[1]).at(-1)).toContain('付了');
  });

  test('all decisions of a reply are asked for at once, also if tools run one after the other', async () => {
    const log: string[] = [];
    const asking = { now: 0, most: 0 };
    const decideSlowly = async () => {
      asking.now += 1;
      asking.most = Math.max(asking.most, asking.now);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      asking.now -= 1;
      log.push('decided');
      return { type: 'approve' } as const;
    };
    const { agent } = alibaba([calls('look', 'pay', 'send'), 'ok'], {
      tools: [noting(log, 'look'), noting(log, 'pay'), noting(log, 'send')],
      use: [approvals({ needsApproval: { pay: true, send: true }, decide: decideSlowly })],
    });

    await agent.call('q');

    expect(asking.most).toBe(2);
    expect(log).toEqual(['decided', 'decided', 'look', 'pay', 'send']);
  });

  test('approved direct tools give the answer without another request; a rejected one goes to the model', async () => {
    const open = () =>
      alibaba([calls('pay', 'send'), 'ok'], {
        tools: ['pay', 'send'].map((name) => noting([], name, { returnDirect: true })),
        use: [approving],
      }).agent;
    const [direct, mixed] = [open(), open()];
    await direct.call('q');
    await mixed.call('q');

    const both = await direct.call([
      decide('pay', { type: 'approve' }),
      decide('send', { type: 'approve' }),
    ]);
    const one = await mixed.call([
      decide('pay', { type: 'approve' }),
      decide('send', { type: 'reject' }),
    ]);

    expect([both.reason, both.text]).toEqual(['return-direct', '["pay done","send done"]']);
    expect([one.reason, one.text]).toEqual(['stop', 'ok']);
  });

  test('a tool call whose arguments are not JSON is refused without an approval', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([{ toolCalls: [{ name: 'pay', input: '{坏' }] }, 'ok'], {
      tools: [noting(log, 'pay')],
      use: [approving],
    });

    const { reason } = await agent.call('q');

    expect([reason, log]).toEqual(['stop', []]);
    expect(resultsIn(model.requests[1]!.messages)[0]?.state).toBe('error');
  });

  test('edited arguments are checked like those of the model', async () => {
    const inputs: unknown[] = [];
    const pay = tool({
      name: 'pay',
      description: 'pays',
      input: z.object({ amount: z.number() }),
      execute: (input) => void inputs.push(input),
    });
    const first = { toolCalls: [{ name: 'pay', id: 'pay-id', input: { amount: 1 } }] };
    const { model, agent } = alibaba([first, 'ok'], { tools: [pay], use: [approving] });
    await agent.call('q');

    const edited = agent.call([decide('pay', { type: 'edit', input: { amount: '多' } })]);
    await expect(edited).rejects.toMatchObject({ code: 'INVALID_DECISION' });

    expect([inputs, model.requests.length]).toEqual([[], 1]);
    expect((await agent.call()).pending).toMatchObject([{ toolUseId: 'pay-id' }]);
  });

  test('tool calls that a hook runs by a jump need their approval too', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      tools: [noting(log, 'pay')],
      use: [approving],
      preset: {
        hooks: [
          notingHook(log, 'h', {
            beforeModel({ messages, jumpTo }) {
              if (messages.length === 1) jumpTo('tools', assistantMessage([toolUse('pay')]));
            },
          }),
        ],
      },
    });

    const asked = await agent.call('q');
    const before = [...log];
    await agent.call([decide('pay', { type: 'approve' })]);

    expect([asked.reason, before]).toEqual(['suspended', ['h.beforeAgent']]);
    expect(log.slice(1)).toEqual(['pay', 'h.afterModel', 'h.afterAgent']);
    expect(model.requests).toHaveLength(1);
  });

  test('a stream that continues an edited call shows the new arguments and then the results in order', async () => {
    const { agent } = alibaba([calls('look', 'pay'), 'ok'], {
      tools: [noting([], 'look'), noting([], 'pay')],
      use: [approving],
    });
    for await (const _ of agent.stream('q'));

    const acting: string[] = [];
    const edit = decide('pay', { type: 'edit', input: { to: '金' } });
    for await (const event of agent.stream([edit])) {
      if (event.type === 'pre-acting' && event.toolUse.name === 'pay')
        acting.push(`before ${JSON.stringify(event.toolUse.input)}`);
      if (event.type === 'post-acting') acting.push(event.toolUse.name);
    }

    expect(acting).toEqual(['before {"to":"金"}', 'look', 'pay']);
  });
});
