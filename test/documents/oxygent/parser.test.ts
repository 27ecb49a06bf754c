import { tool, type JsonObject } from '@isoloop/core';
import { jsonMode, structured } from '@isoloop/core/output';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { calls, echo, echoes, list, observed, read, said, setUp } from './test-support.ts';

describe('the parser', () => {
  test('reads what follows the last end of a thought', async () => {
    const { agent } = setUp(['First.</think>Second.</think>\n\nThe answer is 4. ']);
    expect((await agent.call('2 + 2?')).text).toBe('The answer is 4.');
  });

  test('ignores text before the thinking, too, in the answer and in later requests', async () => {
    const before = `Plan: ${echoes('a')} <think>Hm.</think>`;
    const { agent, model } = setUp([
      `First ${before} more <think>So.</think> ${echoes('b')}`,
      `${before}The answer is <4.`,
      'Again.',
    ]);
    const result = await agent.call('go');
    expect(result.text).toBe('The answer is <4.');
    // Only the tool call after the thinking has run.
    expect(said(model, 1).slice(1)).toEqual([
      `assistant: ${echoes('b')}`,
      `user: ${observed('echo', 'b')}`,
    ]);
    await agent.call('and now?');
    expect(said(model, 2)).toEqual(['user: go', 'assistant: The answer is <4.', 'user: and now?']);
  });

  test('does not run a tool call that the model only thinks about', async () => {
    const { agent } = setUp([`<think>Maybe ${echoes('x')}</think>The answer is 4.`]);
    const { text, toolsUsed } = await agent.call('2 + 2?');
    expect([text, toolsUsed]).toEqual(['The answer is 4.', []]);
  });

  test('runs the first of two fenced tool calls', async () => {
    const fenced = (text: string) => `Now:\n\`\`\`json\n${echoes(text)}\n\`\`\`\n`;
    const { model, agent } = setUp([`${fenced('first')}${fenced('second')}`, 'Done.']);
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'first')}`);
  });

  test('runs a tool call with words before and after it', async () => {
    const { model, agent } = setUp([`I call ${echoes('it')} now.`, 'Done.']);
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'it')}`);
  });

  test('takes a tool call without any closing brace for an answer', async () => {
    const { agent } = setUp(['{"tool_name": "echo", "arguments": {']);
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['{"tool_name": "echo", "arguments": {', 'stop']);
  });

  test('asks again for a tool call that is no JSON', async () => {
    const { model, agent } = setUp([
      '{"tool_name": "echo", "arguments": {text: x}}',
      echoes('x'),
      'Done.',
    ]);
    const { text, iterations } = await agent.call('Go.');
    expect([text, iterations]).toEqual(['Done.', 3]);
    expect(said(model, 1).at(-1)).toMatch(/JSON/);
  });

  test('takes braces that are no JSON and no tool call for an answer', async () => {
    const { agent } = setUp(['Use {curly} braces {like these}.']);
    expect((await agent.call('How?')).text).toBe('Use {curly} braces {like these}.');
  });

  test('refuses a JSON object in an agent call that allows no tools', async () => {
    const { agent } = setUp(['{"foo": 1}', echoes('x'), 'Plain.']);
    const { text, iterations, toolsUsed } = await agent.call('Go.', { allowTools: [] });
    expect([text, iterations, toolsUsed]).toEqual(['Plain.', 3, []]);
  });

  test('refuses a JSON object after the last allowed tool call', async () => {
    const { agent } = setUp([echoes('x'), '{"foo": 1}', 'Plain.'], { limits: { toolCalls: 1 } });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Plain.', 'limit']);
  });

  test('refuses a JSON object if hooks or the tool choice leave no tool', async () => {
    const { agent } = setUp(['{"foo": 1}', 'Plain.', '{"foo": 1}', 'Plain.']);
    const chosen = await agent.call('Go.', { toolChoice: 'none' });
    agent.addHook({ on: { 'pre-reasoning': (event) => ({ ...event, tools: [] }) } });
    const hooked = await agent.call('Go.');
    expect([chosen, hooked].map(({ text, iterations }) => [text, iterations])).toEqual([
      ['Plain.', 2],
      ['Plain.', 2],
    ]);
  });

  test('takes a JSON value after the last allowed tool call, if JSON is asked for', async () => {
    const { agent } = setUp([echoes('x'), '{"foo": 1}'], { limits: { toolCalls: 1 } });
    const { output, iterations } = await agent.call('Go.', { output: jsonMode() });
    expect([output, iterations]).toEqual([{ foo: 1 }, 2]);
  });

  test('reads a structured value in an agent call that allows no other tool', async () => {
    const { agent } = setUp([calls('generate_response', { total: 3 })]);
    const output = structured(z.object({ total: z.number() }), { mode: 'tool' });
    expect((await agent.call('Go.', { output, allowTools: [] })).output).toEqual({ total: 3 });
  });

  test('takes a list of plain values for an answer, but not a list of objects', async () => {
    const { agent } = setUp(['[{"a": 1}]', 'The values are [1, 2].']);
    const { text, iterations } = await agent.call('Which?');
    expect([text, iterations]).toEqual(['The values are [1, 2].', 2]);
  });

  test('takes a JSON object for an answer if the agent call asks for JSON', async () => {
    for (const tools of [[], [echo]]) {
      const { agent } = setUp(['```json\n{"foo": 1}\n```'], { tools });
      const { output, iterations } = await agent.call('Go.', { output: jsonMode() });
      expect([output, iterations]).toEqual([{ foo: 1 }, 1]);
    }
  });

  test('reads a structured value beside real tools, also after an invalid reply', async () => {
    const { agent } = setUp([echoes('x'), '{"foo": 1}', calls('generate_response', { total: 3 })]);
    const output = structured(z.object({ total: z.number() }));
    const result = await agent.call('Go.', { output });
    expect([result.output, result.iterations]).toEqual([{ total: 3 }, 3]);
  });

  test('may be replaced by one that reads another form and falls back to it', async () => {
    const { model, agent } = setUp(
      ['ACTION: echo\n{"text": "one"}', 'ACTION: echo\n{text}', echoes('two'), 'Done.'],
      {
        preset: {
          protocol: {
            parse(reply, _context, otherwise) {
              const [line = '', ...rest] = reply.split('\n');
              if (!line.startsWith('ACTION:')) return otherwise(reply);
              try {
                const input = JSON.parse(rest.join('\n')) as JsonObject;
                return { type: 'calls', calls: [{ name: line.slice(7).trim(), arguments: input }] };
              } catch {
                return { type: 'invalid', message: 'Invalid action format' };
              }
            },
          },
        },
      },
    );
    const { text, result } = await read(agent.stream('Go.'));
    expect([text, result.iterations]).toEqual(['Done.', 4]);
    expect(said(model, 3)).toEqual([
      'user: Go.',
      'assistant: ACTION: echo\n{"text": "one"}',
      `user: ${observed('echo', 'one')}`,
      'assistant: ACTION: echo\n{text}',
      'user: Invalid action format',
      `assistant: ${echoes('two')}`,
      `user: ${observed('echo', 'two')}`,
    ]);
  });

  test('reads special numbers of Python, which become null in the arguments', async () => {
    const sum = tool({
      name: 'sum',
      description: 'Adds.',
      input: z.object({ of: z.array(z.number().nullable()) }),
      execute: ({ of }) => of,
    });
    const { model, agent } = setUp(
      ['{"tool_name": "sum", "arguments": {"of": [1, NaN, -Infinity]}}', 'Done.'],
      { tools: [sum] },
    );
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('sum', '[1,null,null]')}`);
  });

  test('makes no calls in an agent call that allows no tools, whichever parser reads it', async () => {
    const parse = (text: string) =>
      text === 'CALL'
        ? ({ type: 'calls', calls: [{ name: 'echo', arguments: { text } }] } as const)
        : ({ type: 'answer', text } as const);
    const { agent } = setUp(['CALL', 'Fine.'], { preset: { protocol: { parse } } });
    const { text, toolsUsed, iterations } = await agent.call('Go.', { allowTools: [] });
    expect([text, toolsUsed, iterations]).toEqual(['Fine.', [], 2]);
  });

  test('reads a list of one call, but not of two, with one call per reply', async () => {
    const { model, agent } = setUp(
      [list(echoes('a'), echoes('b')), `\`\`\`json\n${list(echoes('c'))}\n\`\`\``, 'Done.'],
      { preset: { protocol: { parallel: false } } },
    );
    await agent.call('Go.');
    expect(said(model, 2).at(-1)).toBe(`user: ${observed('echo', 'c')}`);
    expect(said(model, 1).at(-1)).not.toContain('execution result');
  });
});
