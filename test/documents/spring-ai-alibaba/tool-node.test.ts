import { outputText, textOf, tool, type Middleware } from '@isoloop/core';
import { toolRetry } from '@isoloop/core/resilience';
import { describe, expect, test } from 'vitest';
import { gate } from '../test-support.ts';
import {
  alibaba,
  anyInput,
  calls,
  lines,
  noting,
  notingHook,
  resultsIn,
  sent,
} from './test-support.ts';

/** Creates a tool interceptor that records when a call enters and when its result leaves. */
const notingTool = (log: string[], name: string): Middleware => ({
  wrapTool: async (call, next) => {
    log.push(`${name} in ${call.tool.name}`);
    const outcome = await next(call);
    log.push(`${name} out ${call.tool.name}`);
    return outcome;
  },
});

describe('the tool node', () => {
  /** Returns a tool whose runs wait, and the largest number of runs at the same time. */
  function counting() {
    const count = { now: 0, most: 0 };
    const wait = noting([], 'wait', {
      run: async () => {
        count.now += 1;
        count.most = Math.max(count.most, count.now);
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        count.now -= 1;
        return 'waited';
      },
    });
    return { wait, count };
  }

  test.each([
    { parallelToolExecution: false, most: 1 },
    { parallelToolExecution: true, most: 5 },
  ])(
    'with parallelToolExecution $parallelToolExecution, $most of seven tool calls run at once',
    async ({ parallelToolExecution, most }) => {
      const { wait, count } = counting();
      const seven = { toolCalls: Array.from({ length: 7 }, () => ({ name: 'wait' })) };
      const { model, agent } = alibaba([seven, 'ok'], {
        tools: [wait],
        preset: { parallelToolExecution },
      });

      await agent.call('q');

      expect(count).toEqual({ now: 0, most });
      expect(resultsIn(model.requests[1]!.messages)).toHaveLength(7);
    },
  );

  test('parallel tools that end in reverse leave their results in the order of the calls', async () => {
    const ended: string[] = [];
    const { open: release, opened: second } = gate();
    const first = noting([], 'first', {
      run: async () => {
        await second;
        ended.push('first');
        return '一';
      },
    });
    const last = noting([], 'last', {
      run: () => {
        ended.push('last');
        release();
        return '二';
      },
    });
    const { model, agent } = alibaba([calls('first', 'last'), 'ok'], {
      tools: [first, last],
      preset: { parallelToolExecution: true },
    });

    await agent.call('q');

    expect(ended).toEqual(['last', 'first']);
    const results = resultsIn(model.requests[1]!.messages).map(({ output }) => output);
    expect(results).toEqual(['一', '二']);
  });

  test('an unknown tool and a tool that throws give error results, and the later tools still run', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('fly', 'breaks', 'look'), 'ok'], {
      tools: [
        noting(log, 'breaks', {
          run: () => {
            throw new Error('断了');
          },
        }),
        noting(log, 'look'),
      ],
    });

    const { reason, toolsUsed } = await agent.call('q');

    expect({ reason, toolsUsed }).toEqual({ reason: 'stop', toolsUsed: ['breaks', 'look'] });
    expect(log).toEqual(['breaks', 'look']);
    const results = resultsIn(model.requests[1]!.messages);
    expect(results.map(({ state }) => state)).toEqual(['error', 'error', 'success']);
    expect(outputText(results[1]!.output)).toContain('断了');
  });

  test('tool interceptors wrap each call of a reply, the first one outermost', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('x', 'y'), 'ok'], {
      tools: [noting(log, 'x'), noting(log, 'y')],
      use: [notingTool(log, 'a'), notingTool(log, 'b')],
    });

    await agent.call('q');

    const around = (name: string) => [
      `a in ${name}`,
      `b in ${name}`,
      name,
      `b out ${name}`,
      `a out ${name}`,
    ];
    expect(log).toEqual([...around('x'), ...around('y')]);
  });

  test('a tool interceptor may change arguments and result, and both model and log get the result', async () => {
    const inputs: unknown[] = [];
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting([], 'look', { run: (input) => void inputs.push(input) })],
      use: [
        {
          wrapTool: async (call, next) => {
            const outcome = await next({ ...call, input: { city: '釜山' } });
            return 'output' in outcome ? { ...outcome, output: '已改' } : outcome;
          },
        },
      ],
    });

    await agent.call('q');

    expect(inputs).toEqual([{ city: '釜山' }]);
    expect(sent(model.requests[1]).at(-1)).toBe('tool: look=已改');
    expect(lines(await agent.messages())).toContain('tool: look=已改');
  });

  test('a tool interceptor may answer instead of the tool, also as the direct answer', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('report')], {
      tools: [noting(log, 'report', { returnDirect: true })],
      use: [
        {
          wrapTool: async ({ toolUse: { id, name } }) => ({
            type: 'tool_result',
            toolUseId: id,
            name,
            output: '缓存',
            state: 'success',
          }),
        },
      ],
    });

    const { text, reason } = await agent.call('q');

    expect({ text, reason, log }).toEqual({ text: '缓存', reason: 'return-direct', log: [] });
    model.assertDone();
  });

  test('several direct results become a JSON list in the order of the calls; the hooks after the agent see it', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('b', 'a')], {
      tools: ['a', 'b'].map((name) => noting([], name, { returnDirect: true })),
      preset: {
        parallelToolExecution: true,
        hooks: [
          notingHook(log, 'h', { afterAgent: ({ message }) => void log.push(textOf(message)) }),
        ],
      },
    });

    const { text } = await agent.call('q');

    expect(JSON.parse(text)).toEqual(['b done', 'a done']);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', text]);
  });

  test('a tool that fails twice runs three times inside one tool call', async () => {
    const log: string[] = [];
    const flaky = noting(log, 'flaky', {
      run: () => {
        if (log.length < 3) throw new Error('again');
        return '好了';
      },
    });
    const { model, agent } = alibaba([calls('flaky'), 'ok'], {
      tools: [flaky],
      use: [toolRetry({ isTransient: () => true, sleep: async () => {} })],
    });

    await agent.call('q');

    expect(log).toHaveLength(3);
    expect(sent(model.requests[1]).at(-1)).toBe('tool: flaky=好了');
  });

  test('the events of a round come in the order of the graph, with the progress of the tool', async () => {
    const { agent } = alibaba([calls('look'), 'ok'], {
      tools: [
        noting([], 'look', {
          run: (_input, { emit }) => {
            emit('一半');
            return 'done';
          },
        }),
      ],
    });

    const types: string[] = [];
    for await (const { type } of agent.stream('q')) types.push(type);

    expect(types.filter((type) => type !== 'tool-input-chunk')).toEqual([
      'run-start',
      'pre-call',
      'pre-reasoning',
      'post-reasoning',
      'pre-acting',
      'acting-chunk',
      'post-acting',
      'pre-reasoning',
      'reasoning-chunk',
      'post-reasoning',
      'post-call',
      'run-end',
    ]);
  });

  test('a tool that times out gives an error result, and the next tool of the reply runs', async () => {
    const log: string[] = [];
    const slow = tool({
      name: 'slow',
      description: 'never ends',
      input: anyInput,
      timeoutMs: 1,
      execute: () => new Promise<string>(() => {}),
    });
    const { model, agent } = alibaba([calls('slow', 'look'), 'ok'], {
      tools: [slow, noting(log, 'look')],
    });

    await agent.call('q');

    const states = resultsIn(model.requests[1]!.messages).map(({ state }) => state);
    expect([states, log]).toEqual([['error', 'success'], ['look']]);
  });

  test('an interrupt during the first of two tools starts no other tool, and the answer is its message', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('a', 'b')], {
      tools: [
        noting(log, 'a', { run: (_input, context) => void context.interrupt('停') }),
        noting(log, 'b'),
      ],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const { reason, text } = await agent.call('q');

    expect([reason, text]).toEqual(['interrupted', '停']);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'a']);
    const states = resultsIn(await agent.messages()).map(({ state }) => state);
    expect(states).toEqual(['success', 'interrupted']);
    model.assertDone();
  });

  test('two tool calls with one id both run, and each has its own result', async () => {
    const log: string[] = [];
    const same = { toolCalls: ['a', 'b'].map((name) => ({ name, id: 'same' })) };
    const { model, agent } = alibaba([same, 'ok'], { tools: [noting(log, 'a'), noting(log, 'b')] });

    await agent.call('q');

    expect(log).toEqual(['a', 'b']);
    expect(sent(model.requests[1]).slice(2)).toEqual(['tool: a=a done', 'tool: b=b done']);
    expect(new Set(resultsIn(model.requests[1]!.messages).map((one) => one.toolUseId)).size).toBe(
      2,
    );
  });
});
