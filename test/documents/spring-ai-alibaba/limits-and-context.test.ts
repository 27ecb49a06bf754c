import { MemoryStore, SessionMemory } from '@isoloop/core';
import { clearToolResults, summarizeHistory } from '@isoloop/core/context';
import { piiGuard } from '@isoloop/guards';
import { approvals } from '@isoloop/core/approval';
import { modelRequestLimit, toolCallLimit } from '@isoloop/core/limits';
import { structured } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { alibaba, calls, lines, noting, notingHook, resultsIn, sent } from './test-support.ts';

describe('limits and the context', () => {
  test('a limit of model requests lets exactly its number of requests through, then ends the call with a text', async () => {
    const log: string[] = [];
    const round = () => ({ toolCalls: [{ name: 'look' }] });
    const open = (replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        tools: [noting(log, 'look')],
        use: [modelRequestLimit({ run: 2, text: '够了' })],
        preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
      });

    const fits = await open([round, 'ok']).agent.call('q');
    const { model, agent } = open([round, round]);
    log.length = 0;
    const exceeds = await agent.call('q');

    expect([fits.reason, fits.text]).toEqual(['stop', 'ok']);
    expect([exceeds.reason, exceeds.text]).toEqual(['limit', '够了']);
    expect(log).toEqual(['h.beforeAgent', 'look', 'look', 'h.afterAgent']);
    expect(lines(await agent.messages()).at(-1)).toBe('assistant: 够了');
    model.assertDone();
  });

  test('the thread limit counts over agents on one session, and the exit `error` fails the call', async () => {
    const store = new MemoryStore();
    const log: string[] = [];
    const open = (session: string) =>
      alibaba(['ok'], {
        memory: new SessionMemory(store, session),
        use: [modelRequestLimit({ session: 2, atLimit: 'fail' })],
        preset: { hooks: [notingHook(log, 'h')] },
      }).agent;
    await open('甲').call('1');
    await open('甲').call('2');
    log.length = 0;

    const third = await open('甲').call('3', { throwOnError: false });
    const other = await open('乙').call('1');

    expect([third.reason, third.error?.code]).toEqual(['error', 'LIMIT_EXCEEDED']);
    expect(other.text).toBe('ok');
    expect(log.filter((entry) => entry === 'h.afterAgent')).toHaveLength(1);
  });

  test('a tool call limit refuses the whole reply that exceeds it, and rejected calls do not count', async () => {
    const log: string[] = [];
    const call = (id: string) => ({ name: 'pay', id });
    const { model, agent } = alibaba(
      [
        { toolCalls: [call('1'), call('2')] },
        { toolCalls: [call('3')] },
        { toolCalls: [call('4'), call('5')] },
      ],
      {
        tools: [noting(log, 'pay')],
        use: [
          approvals({
            needsApproval: { pay: true },
            decide: ({ toolUseId }) => ({ type: toolUseId === '1' ? 'reject' : 'approve' }),
          }),
          toolCallLimit({ tool: 'pay', session: 3 }),
        ],
      },
    );

    const { reason } = await agent.call('q');

    expect([reason, log]).toEqual(['limit', ['pay', 'pay']]);
    const states = resultsIn(await agent.messages()).map(({ state }) => state);
    expect(states).toEqual(['denied', 'success', 'success', 'interrupted', 'interrupted']);
    model.assertDone();
  });

  test('a summary keeps the first user message and whole tool rounds, and the log keeps everything', async () => {
    const long = '很长的回答。'.repeat(200);
    const { model, agent } = alibaba([calls('look'), long, long, '短'], {
      tools: [noting([], 'look')],
      use: [
        summarizeHistory({
          maxTokens: 400,
          summaryTokens: 50,
          keep: 2,
          model: new ScriptedModel(Array.from({ length: 5 }, () => '概要')),
        }),
      ],
    });

    await agent.call('最初的问题');
    await agent.call('第二个问题');
    await agent.call('第三个问题');

    const last = sent(model.requests.at(-1));
    expect(last.join('\n')).toContain('<conversation_summary>');
    expect(last.find((line) => line.includes('概要'))).toMatch(/^user: /);
    expect(last.filter((line) => line.includes('最初的问题'))).toHaveLength(1);
    expect(last.filter((line) => line.includes('look'))).toEqual([]);
    expect(last.at(-1)).toBe('user: 第三个问题');
    expect(await agent.messages()).toHaveLength(8);
  });

  test('a failed summary leaves messages out; the event and the warnings of the result have the error', async () => {
    const long = '很长的回答。'.repeat(200);
    const { agent } = alibaba([long, '短'], {
      use: [
        summarizeHistory({
          maxTokens: 300,
          summaryTokens: 50,
          keep: 1,
          model: new ScriptedModel([{ error: new Error('没有概要') }]),
          onError: () => {},
        }),
      ],
    });
    await agent.call('一');

    const stream = agent.stream('二');
    const errors: unknown[] = [];
    for await (const event of stream) if (event.type === 'context-fitted') errors.push(event.error);
    const { text, warnings } = await stream.result;

    expect(text).toBe('短');
    expect(errors).toEqual([
      expect.objectContaining({ message: expect.stringContaining('没有概要') }),
    ]);
    expect(warnings).toEqual(errors);
  });

  test('clearing keeps the newest results, excluded tools and every tool call', async () => {
    const round = (name: string) => ({ toolCalls: [{ name }] });
    const big = 'x'.repeat(400);
    const { model, agent } = alibaba(
      [round('look'), round('plan'), round('look'), round('look'), 'ok'],
      {
        tools: [noting([], 'look', { run: () => big }), noting([], 'plan', { run: () => big })],
        use: [clearToolResults({ maxTokens: 50, keep: 1, clearAtLeast: 0, exclude: ['plan'] })],
      },
    );

    await agent.call('q');

    const outputs = resultsIn(model.requests[4]!.messages).map(({ output }) => output);
    expect(outputs).toEqual(['[cleared]', big, '[cleared]', big]);
    expect(resultsIn(await agent.messages()).every(({ output }) => output === big)).toBe(true);
  });

  test('personal data in the input is replaced before hooks, template and model see it', async () => {
    const seen: string[] = [];
    const { model, agent } = alibaba(['好 bob@example.com'], {
      systemPrompt: '{input}',
      use: [piiGuard()],
      preset: {
        hooks: [{ name: 'h', beforeAgent: ({ input }) => void seen.push(...lines(input)) }],
      },
    });

    const { text } = await agent.call('写信给ann@example.com。');

    expect(seen).toEqual(['user: 写信给[EMAIL]。']);
    expect(sent(model.requests[0])).toEqual(['system: 写信给[EMAIL]。', 'user: 写信给[EMAIL]。']);
    expect(text).toBe('好 bob@example.com');
  });

  test('a run that continues after an approval continues the count of its model requests', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('pay'), calls('look')], {
      tools: [noting(log, 'pay'), noting(log, 'look')],
      use: [approvals({ needsApproval: { pay: true } }), modelRequestLimit({ run: 2 })],
    });
    await agent.call('q');

    const { reason } = await agent.call([{ toolUseId: 'pay-id', type: 'approve' }]);

    expect([reason, log]).toEqual(['limit', ['pay', 'look']]);
    model.assertDone();
  });

  test('a typed value needs no approval, and a direct tool does not replace it', async () => {
    const log: string[] = [];
    const value = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
    const { model, agent } = alibaba([calls('look'), value], {
      tools: [noting(log, 'look', { returnDirect: true })],
      use: [approvals({ needsApproval: { '*': true, look: false } })],
    });

    const { reason, output } = await agent.call('q', {
      output: structured(z.object({ n: z.number() })),
    });

    expect([reason, output, log]).toEqual(['stop', { n: 1 }, ['look']]);
    model.assertDone();
  });
});
