import { tool } from '@isoloop/core';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { calls, chart, echo, echoes, list, read, said, setUp } from './test-support.ts';

describe('trust mode', () => {
  test('holds for a flag that equals one, and for no other', async () => {
    const reasons = [];
    for (const flag of [1, true, 0, '1', 2, null]) {
      const { agent } = setUp([echoes('x', { trust_mode: flag }), 'Done.']);
      reasons.push((await agent.call('Go.')).reason);
    }
    expect(reasons).toEqual(['return-direct', 'return-direct', 'stop', 'stop', 'stop', 'stop']);
  });

  test('ends the agent call in the last round, without another request', async () => {
    const { model, agent } = setUp(['{}', echoes('x')], {
      preset: { trustMode: true, maxRounds: 2 },
    });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason, model.requests.length]).toEqual(['x', 'return-direct', 2]);
  });

  test('makes the result the answer that later agent calls see', async () => {
    const { model, agent } = setUp([echoes('42', { trust_mode: 1 }), 'Hello.']);
    await agent.call('First?');
    await agent.call('Second?');
    expect(said(model, 1)).toEqual(['user: First?', 'assistant: 42', 'user: Second?']);
  });

  test('leaves its round in the steps of the result', async () => {
    const { agent } = setUp(['{}', echoes('42', { trust_mode: 1 })]);
    const { reactMemory } = await agent.call('Go.');
    const roles = reactMemory?.map(({ role }) => role).join(' ');
    expect(roles).toBe('assistant user assistant tool');
  });

  test('may depend on what the tool returns', async () => {
    const { agent } = setUp([echoes('first'), echoes('{"trust_mode": 1}')], {
      returnDirect: ({ output }) => String(output).includes('"trust_mode": 1'),
    });
    const { text, reason, iterations } = await agent.call('Go.');
    expect([text, reason, iterations]).toEqual(['{"trust_mode": 1}', 'return-direct', 2]);
  });

  test('answers with the result as hooks leave it', async () => {
    const { agent } = setUp([echoes('secret')], { preset: { trustMode: true } });
    agent.addHook({
      on: {
        'post-acting': (event) => ({ ...event, result: { ...event.result, output: 'masked' } }),
      },
    });
    const { result } = await read(agent.stream('Go.'));
    expect(result.text).toBe('masked');
  });

  test('answers with the pictures of a result', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws.',
      input: z.object({}),
      execute: () => ({ content: [chart('a'), { type: 'text', text: 'A chart.' }] }),
    });
    const { agent } = setUp([calls('draw')], {
      preset: { trustMode: true },
      tools: [draw],
      features: { media: ['image'] },
    });
    const { message } = await agent.call('Draw.');
    expect(message.content).toEqual([chart('a'), { type: 'text', text: 'A chart.' }]);
  });

  test('does not hold for a call that a hook refused', async () => {
    const { model, agent } = setUp([echoes('x'), 'Refused.'], { preset: { trustMode: true } });
    agent.addHook({ on: { 'pre-acting': ({ reject }) => reject('Not now.') } });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Refused.', 'stop']);
    expect(said(model, 1).at(-1)).toContain('Not now.');
  });

  test('waits for a result from outside, and then answers with all results of the list', async () => {
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    const { model, agent } = setUp([list(calls('ask'), echoes('b'))], {
      preset: { trustMode: true },
      tools: [ask, echo],
    });
    const { pending, reason } = await agent.call('Go.');
    expect(reason).toBe('suspended');
    const toolUseId = pending[0]?.toolUseId ?? '';
    const { text } = await agent.call([{ toolUseId, type: 'result', output: 'a' }]);
    expect(JSON.parse(text)).toEqual(['a', 'b']);
    model.assertDone();
  });
});
