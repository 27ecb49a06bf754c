import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region text-protocol
import { ReActAgent, textOf, tool } from '@isoloop/core';
import { parseToolCalls, textToolCalls } from '@isoloop/core/text-protocol';
import * as z from 'zod';
// #endregion
// #region text-protocol-options
// #endregion
// #region text-protocol-trust
import { oxygent } from '@isoloop/presets';
// #endregion
// #region text-protocol-order
import { outputGuards, piiRule } from '@isoloop/guards';
import { fallback, retry } from '@isoloop/core/resilience';
import { wrapModel } from '@isoloop/core/model';
// #endregion

test('textToolCalls() calls tools through text', async () => {
  const features = { tools: false };
  const model = new ScriptedModel(
    [
      '<think>I need the sum.</think>I add.\n```json\n{"tool_name": "add", "arguments": {"a": 2, "b": 40}}\n```',
      '42',
      '{"tool_name": "add"}',
      '{"tool_name": "add", "arguments": {"a": 3, "b": 40}}',
      '43',
    ],
    { features },
  );

  // #region text-protocol
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [add],
    use: [textToolCalls()],
  });
  const { toolsUsed, text } = await agent.call('What is 2 + 40?');
  console.assert(toolsUsed.includes('add') && text === '42');
  // #endregion

  const log = await agent.messages();
  expect(log[1]!.content).toMatchObject([
    { type: 'thinking', thinking: 'I need the sum.' },
    { type: 'text', text: 'I add.' },
    { type: 'tool_use', name: 'add', input: { a: 2, b: 40 } },
  ]);
  expect(model.requests[0]!.tools).toEqual([]);

  // #region text-protocol-corrections
  await agent.call('And 3 + 40?'); // the model first writes {"tool_name": "add"} and reads that "arguments" must be an object
  const said = (await agent.messages()).filter(({ metadata }) => !metadata?.['correction']);
  console.log(said.map(textOf));
  // #endregion
  expect(said.map(textOf)).toEqual([
    'What is 2 + 40?',
    'I add.',
    '',
    '42',
    'And 3 + 40?',
    '',
    '',
    '43',
  ]);

  const lines = new ScriptedModel(['ADD 2 40', 'TBD', '42'], { features });
  // #region text-protocol-options
  const protocol = textToolCalls({
    parse: (reply, { tools }, otherwise) => {
      const [, a, b] = /^ADD (\d+) (\d+)$/.exec(reply) ?? [];
      if (a && tools.length)
        return {
          type: 'calls',
          calls: [{ name: 'add', arguments: { a: Number(a), b: Number(b) } }],
        };
      return otherwise(reply);
    },
    check: async (reply) => (reply.includes('TBD') ? 'Leave nothing open.' : undefined),
    parallel: false, // one tool call per reply
    prompt: ({ toolsText }) =>
      `Du hast Werkzeuge. Antworte mit "ADD a b", um eines zu rufen.\n\n${toolsText}`,
  });
  console.assert(parseToolCalls('Result is {"foo": 1} ok').type === 'answer');
  // #endregion
  const custom = new ReActAgent({
    name: 'assistant',
    model: lines,
    tools: [add],
    use: [protocol],
  });
  expect(await custom.call('What is 2 + 40?')).toMatchObject({
    text: '42',
    toolsUsed: ['add'],
    iterations: 3,
  });

  const sure = new ScriptedModel(
    ['{"tool_name": "add", "arguments": {"a": 2, "b": 40}, "trust_mode": 1}'],
    { features },
  );
  // #region text-protocol-trust
  const trusting = new ReActAgent({
    name: 'assistant',
    model: sure,
    tools: [add],
    systemPrompt: 'Put "trust_mode": 1 beside "tool_name" where the result is the answer as it is.',
    use: [oxygent()], // the model decides, otherwise each tool's `returnDirect`
  });
  const direct = await trusting.call('What is 2 + 40?'); // '42', 'return-direct'
  // #endregion
  expect(direct).toMatchObject({ text: '42', reason: 'return-direct' });

  const local = new ScriptedModel(['{"tool_name": "add", "arguments": {"a": 2, "b": 40}}', '42'], {
    features,
  });
  const native = new ScriptedModel([{ error: new Error('down') }, { error: new Error('down') }]);
  // #region text-protocol-order
  const byText = textToolCalls();
  const guarded = new ReActAgent({
    name: 'assistant',
    model: native, // a model with tool calling; if it fails, the local model calls tools through text
    tools: [add],
    use: [
      outputGuards([piiRule()]),
      { on: byText.on ?? {} },
      fallback([wrapModel(local, byText)]),
      retry(),
    ],
  });
  // #endregion
  expect(await guarded.call('go').catch((error: unknown) => error)).toMatchObject({ text: '42' });
});
