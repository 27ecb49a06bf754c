import { tool, userMessage } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { calls, chart, echo, echoes, observed, read, said, setUp } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('rounds', () => {
  test('a tool call in the last round runs, and the answer is asked from its result', async () => {
    const { model, agent } = setUp(['Before.', echoes('treasure'), 'Found it.'], {
      preset: { maxRounds: 1 },
    });
    await agent.call('Earlier?');
    const { text, reason } = await agent.call('Where is it?');
    expect([text, reason]).toEqual(['Found it.', 'max-iterations']);
    const [only, ...more] = said(model, 2);
    expect(more).toEqual([]);
    expect(only).toContain('Where is it?');
    expect(only).toContain('treasure');
    expect(only).not.toContain('Earlier?');
  });

  test('invalid replies use up rounds, and the last request comes even without a result', async () => {
    const { model, agent } = setUp(['{"a": 1}', '{"a": 2}', 'At last.'], {
      preset: { maxRounds: 2 },
    });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['At last.', 'max-iterations']);
    expect(said(model, 2)[0]).toContain('Go.');
  });

  test('a tool call in the reply to the last request does not run', async () => {
    const ran: string[] = [];
    const spy = tool({
      name: 'spy',
      description: 'Notes a text.',
      input: z.object({ text: z.string() }),
      execute: ({ text }) => ran.push(text),
    });
    const { model, agent } = setUp(
      [calls('spy', { text: 'in time' }), calls('spy', { text: 'too late' })],
      { preset: { maxRounds: 1 }, tools: [spy] },
    );
    const { reason } = await agent.call('Go.');
    expect(reason).toBe('max-iterations');
    expect(ran).toEqual(['in time']);
    model.assertDone();
  });

  test('the words beside a tool call in the reply to the last request are the answer', async () => {
    const { agent } = setUp([echoes('x'), `It may be x. ${echoes('y')}`], {
      preset: { maxRounds: 1 },
    });
    const { text, result } = await read(agent.stream('Go.'));
    expect([text, result.text]).toEqual(['It may be x.', 'It may be x.']);
  });

  test('JSON in the reply to the last request is the answer, and an empty reply names the limit', async () => {
    const texts = [];
    for (const last of ['{"a": 1}', '']) {
      const { agent } = setUp([echoes('x'), last], { preset: { maxRounds: 1 } });
      texts.push((await agent.call('Go.')).text);
    }
    expect(texts).toEqual([
      '{"a": 1}',
      'Maximum iterations (1) reached. Unable to generate summary.',
    ]);
  });

  test('an answer after the last round is in the history of the next agent call', async () => {
    const { model, agent } = setUp([echoes('x'), 'Summed up.', 'Again.'], {
      preset: { maxRounds: 1 },
    });
    await agent.call('First?');
    await agent.call('Second?');
    expect(said(model, 2)).toEqual(['user: First?', 'assistant: Summed up.', 'user: Second?']);
  });

  test('the last request has only the results for the current question', async () => {
    const { model, agent } = setUp([echoes('old'), 'A.', echoes('fresh'), echoes('newer'), 'B.'], {
      preset: { maxRounds: 2 },
    });
    await agent.call('First?');
    await agent.call('Second?');
    const [request = ''] = said(model, 4);
    expect(request).not.toContain('old');
    expect(request.indexOf('fresh')).toBeGreaterThan(0);
    expect(request.indexOf('newer')).toBeGreaterThan(request.indexOf('fresh'));
  });

  test('each agent call has all of its rounds', async () => {
    const { agent } = setUp([echoes('1'), echoes('2'), 'A.', echoes('3'), echoes('4'), 'B.'], {
      preset: { maxRounds: 3 },
    });
    const first = await agent.call('First?');
    const second = await agent.call('Second?');
    expect([first.reason, second.reason]).toEqual(['stop', 'stop']);
    expect([first.iterations, second.iterations]).toEqual([3, 3]);
  });

  test('without rounds, the first request is the last one', async () => {
    const { model, agent } = setUp(['At once.'], { preset: { maxRounds: 0 } });
    const { text, reason, iterations } = await agent.call('Go.');
    expect([text, reason, iterations]).toEqual(['At once.', 'max-iterations', 0]);
    expect(said(model, 0)[0]).toContain('Go.');
  });

  test('the last request has the pictures of the question and of the results', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws.',
      input: z.object({}),
      execute: () => ({ content: [{ type: 'text', text: 'A chart.' }, chart('second')] }),
    });
    const { model, agent } = setUp([calls('draw'), 'Two charts.'], {
      preset: { maxRounds: 1 },
      tools: [draw],
      features: { media: ['image'] },
    });
    await agent.call(userMessage([{ type: 'text', text: 'Analyze.' }, chart('first')]));
    const blocks = model.requests[1]?.messages.flatMap(({ content }) => content) ?? [];
    expect(blocks).toEqual(expect.arrayContaining([chart('first'), chart('second')]));
  });

  test('the last request may be interrupted', async () => {
    const { agent } = setUp(
      [echoes('x'), { wait: async () => void agent.interrupt('Enough.'), text: 'Summed up.' }],
      { preset: { maxRounds: 1 } },
    );
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Enough.', 'interrupted']);
  });

  test('the last request has the results from before an approval, too', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({}),
      needsApproval: true,
      execute: () => 'Paid.',
    });
    const replies = [echoes('price'), calls('pay'), echoes('bill'), echoes('tip'), 'Done.'];
    const { model, agent } = setUp(replies, { preset: { maxRounds: 2 }, tools: [echo, pay] });
    const [waiting] = (await agent.call('Pay.')).pending;
    const result = await agent.call([{ toolUseId: waiting?.toolUseId ?? '', type: 'approve' }]);
    expect([result.text, result.reason]).toEqual(['Done.', 'max-iterations']);
    expect(said(model, 4)[0]).toMatch(/Pay\..*price.*Paid\..*bill.*tip/s);
  });

  test('the last request is sent again after a short failure', async () => {
    const clock = fakeClock();
    const busy = { error: Object.assign(new Error('Overloaded'), { status: 503 }) };
    const { agent } = setUp([echoes('x'), busy, 'Summed up.'], { preset: { maxRounds: 1 } });
    const call = agent.call('Go.');
    expect((await clock.advanceUntil(call)).text).toBe('Summed up.');
  });

  test('after the last round, an agent call that asks for JSON gets its value', async () => {
    const { agent } = setUp([echoes('x'), '{"total": 3}'], { preset: { maxRounds: 1 } });
    const { output, reason } = await agent.call('Go.', {
      output: structured(z.object({ total: z.number() }), { mode: 'prompt' }),
    });
    expect([output, reason]).toEqual([{ total: 3 }, 'max-iterations']);
  });

  test('the steps of an agent call that used up its rounds stay in the history', async () => {
    const { model, agent } = setUp([echoes('x'), 'Summed up.', 'Hello.'], {
      preset: { maxRounds: 1, discardReactMemory: false },
    });
    expect((await agent.call('q1')).reactMemory).toHaveLength(2);
    await agent.call('q2', { allowTools: [] });
    expect(said(model, 2)).toEqual([
      'user: q1',
      `assistant: ${echoes('x')}`,
      `user: ${observed('echo', 'x')}`,
      'assistant: Summed up.',
      'user: q2',
    ]);
  });

  test('a reader gets the answer after the last round as a summary', async () => {
    const { agent } = setUp([echoes('x'), 'Summed up here.'], { preset: { maxRounds: 1 } });
    const { text, types, result } = await read(agent.stream('Go.'));
    expect(text).toBe('Summed up here.');
    expect(result.text).toBe(text);
    const told = ['post-acting', 'pre-summary', 'summary-chunk', 'post-summary'];
    expect(types.filter((type) => told.includes(type))).toEqual(told);
  });
});
