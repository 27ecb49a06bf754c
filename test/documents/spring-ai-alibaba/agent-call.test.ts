import { assistantMessage, InMemoryMemory, toolMessage, userMessage } from '@isoloop/core';
import { describe, expect, test } from 'vitest';
import {
  alibaba,
  calls,
  lines,
  noting,
  notingHook,
  resultsIn,
  sent,
  toolUse,
} from './test-support.ts';

const result = (name: string) =>
  ({
    type: 'tool_result',
    toolUseId: `${name}-id`,
    name,
    output: `${name} done`,
    state: 'success',
  }) as const;

describe('the agent call', () => {
  test('a text, a message and a list with one message make the same request', async () => {
    const inputs = ['你好', userMessage('你好'), [userMessage('你好')]];
    for (const input of inputs) {
      const { model, agent } = alibaba(['好'], { systemPrompt: '简短回答。' });

      await agent.call(input);

      expect(sent(model.requests[0])).toEqual(['system: 简短回答。', 'user: 你好']);
    }
  });

  test('the answer is the last assistant message, not the text beside a tool call', async () => {
    const { agent } = alibaba([{ text: '我先看看。', ...calls('look') }, '答案'], {
      tools: [noting([], 'look')],
    });

    const { text, message, reason } = await agent.call('看');

    expect({ text, reason }).toEqual({ text: '答案', reason: 'stop' });
    expect(message.id).toBe((await agent.messages()).at(-1)?.id);
  });

  test('a call and a stream leave the same log and the same result', async () => {
    const replies = [{ text: '先', ...calls('look') }, '后'];
    const [called, streamed] = [0, 1].map(() => alibaba(replies, { tools: [noting([], 'look')] }));

    const byCall = await called!.agent.call('看');
    const stream = streamed!.agent.stream('看');
    for await (const _ of stream);
    const byStream = await stream.result;

    expect(byStream.text).toBe(byCall.text);
    expect(byStream.toolsUsed).toEqual(byCall.toolsUsed);
    expect(lines(await streamed!.agent.messages())).toEqual(lines(await called!.agent.messages()));
  });

  test('the loop has no limit of its own: the fiftieth reply may still call a tool', async () => {
    const log: string[] = [];
    const rounds = Array.from({ length: 50 }, () => ({ toolCalls: [{ name: 'look' }] }));
    const { model, agent } = alibaba([...rounds, 'end'], { tools: [noting(log, 'look')] });

    const { reason, iterations } = await agent.call('go');

    expect({ reason, iterations, ran: log.length }).toEqual({
      reason: 'stop',
      iterations: 51,
      ran: 50,
    });
    model.assertDone();
  });

  test('a limit of the agent replaces the unlimited recursion of the preset, to the exact round', async () => {
    const round = () => ({ toolCalls: [{ name: 'look' }] });
    const options = { tools: [noting([], 'look')], limits: { iterations: 3 } };

    const fits = await alibaba([round, round, 'third'], options).agent.call('go');
    const exceeds = await alibaba([round, round, round, 'sum'], options).agent.call('go');

    expect([fits.reason, fits.text]).toEqual(['stop', 'third']);
    expect([exceeds.reason, exceeds.text]).toEqual(['max-iterations', 'sum']);
  });

  test('input that ends with complete tool results goes to the model and runs no tool', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], { tools: [noting(log, 'look')] });

    await agent.call([
      userMessage('q'),
      assistantMessage([toolUse('look')]),
      toolMessage(result('look')),
    ]);

    expect(log).toEqual([]);
    expect(sent(model.requests[0])).toEqual([
      'user: q',
      'assistant: look({})',
      'tool: look=look done',
    ]);
  });

  test('after some of the tool results, only the missing tool calls run, and the order stays', async () => {
    const log: string[] = [];
    const memory = new InMemoryMemory(
      [
        userMessage('q'),
        assistantMessage(['a', 'b', 'c'].map(toolUse)),
        toolMessage({ ...result('b'), output: 'b earlier' }),
      ],
      { unnotedCalls: 'run' },
    );
    const { model, agent } = alibaba(['ok'], {
      memory,
      tools: ['a', 'b', 'c'].map((name) => noting(log, name)),
    });

    await agent.call();

    expect(log).toEqual(['a', 'c']);
    const results = resultsIn(model.requests[0]!.messages).map(({ output }) => output);
    expect(results).toEqual(['a done', 'b earlier', 'c done']);
  });

  test('an empty reply without tool calls ends the loop', async () => {
    const log: string[] = [];
    const { agent } = alibaba([{}], { preset: { hooks: [notingHook(log, 'h')] } });

    const { reason, text } = await agent.call('q');

    expect({ reason, text }).toEqual({ reason: 'stop', text: '' });
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'h.afterAgent']);
  });

  test('a failed second request rejects, keeps the tool results, and the next call asks again', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), { error: new Error('坏了') }, 'fine'], {
      tools: [noting(log, 'look')],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const failed = await agent.call('q', { throwOnError: false });
    const again = await agent.call();

    expect([failed.reason, failed.error?.message]).toEqual(['error', '坏了']);
    expect(again.text).toBe('fine');
    expect(sent(model.requests[2])).toEqual(sent(model.requests[1]));
    expect(log.filter((entry) => entry === 'look')).toHaveLength(1);
    expect(log.filter((entry) => entry === 'h.afterAgent')).toHaveLength(1);
  });
});
