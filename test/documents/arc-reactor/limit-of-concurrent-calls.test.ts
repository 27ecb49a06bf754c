import { ReActAgent, textOf } from '@isoloop/core';
import { concurrencyLimit, Semaphore } from '@isoloop/core/limits';
import { arcReactor } from '@isoloop/presets';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { failing, make, returned } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('the limit of concurrent calls', () => {
  test('lets the next call wait longer than its own time limit', async () => {
    const clock = fakeClock();
    const preset = arcReactor();
    const agentOf = (userId: string, model: ScriptedModel): ReActAgent =>
      new ReActAgent({ name: 'assistant', model, userId, use: [preset] });
    const stuck = Array.from({ length: 20 }, (_, at) =>
      agentOf(`user ${at}`, new ScriptedModel([{ hang: true }])).call('Hi', returned),
    );
    const model = new ScriptedModel([
      { wait: () => new Promise((resolve) => setTimeout(resolve, 20_000)), text: 'My turn.' },
    ]);
    const last = agentOf('last', model).call('Hi', returned);
    await clock.advance(29_999);
    expect(model.requests).toHaveLength(0);
    await clock.advance(1);
    const codes = (await Promise.all(stuck)).map(({ error }) => error?.code);
    expect(new Set(codes)).toEqual(new Set(['CALL_TIMEOUT']));
    await clock.advance(20_000);
    expect((await last).text).toBe('My turn.');
  });

  test('gets its place back after every kind of end', async () => {
    const semaphore = new Semaphore(1);
    const free = async (replies: readonly ScriptedReply[], run: (agent: ReActAgent) => unknown) => {
      const { agent } = make(replies, {
        use: [
          concurrencyLimit(semaphore),
          {
            on: {
              'pre-call'({ input, reject }) {
                if (textOf(input[0]!) === 'No') reject('No.');
              },
            },
          },
        ],
      });
      await run(agent);
      return semaphore.free;
    };
    const ends = [
      await free(['Done.'], (agent) => agent.call('Hi')),
      await free([failing('Strange')], (agent) => agent.call('Hi', returned)),
      await free([], (agent) => agent.call('No')),
      await free([], (agent) => agent.call('Hi', { signal: AbortSignal.abort() })),
      await free(['A long answer.'], async (agent) => {
        for await (const { type } of agent.stream('Hi')) if (type === 'reasoning-chunk') break;
      }),
    ];
    expect(ends).toEqual([1, 1, 1, 1, 1]);
  });

  test('ends the wait of a call that is canceled, without a request', async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const { agent, model } = make(['Never.'], { use: [concurrencyLimit(semaphore)] });
    const controller = new AbortController();
    const called = agent.call('Hi', { signal: controller.signal });
    await expect.poll(() => semaphore.waiting).toBe(1);
    controller.abort();
    expect((await called).reason).toBe('aborted');
    release();
    expect([semaphore.free, semaphore.waiting, model.requests.length]).toEqual([1, 0, 0]);
  });
});
