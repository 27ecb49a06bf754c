import { expect, test } from 'vitest';
import * as z from 'zod';
import { dashscope } from '../dashscope.ts';
import { textOf } from '../message/message-text.ts';
import { openai } from '../openai.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { CallOptions } from './agent-options.ts';
import { ReActAgent } from './react-agent.ts';

const model = new ScriptedModel([]);
const add = tool({
  name: 'add',
  description: 'Adds',
  input: z.object({ a: z.number() }),
  execute: () => 'x',
});
const agentWith = (options: object) => () => new ReActAgent({ name: 'a', model, ...options });

const agentOptions =
  'name, systemPrompt, recoveryMessage, userId, sessionId, model, tools, toolContext, memory, use, limits, ' +
  'generate, onLimit, generateId, now, onHookError, whenBusy, preCall, pauseWhenIdle, returnDirect, presetPriority, retrievalRole';

test.each<[mistake: string, make: () => unknown, message: string]>([
  [
    "model: 'openai/gpt-5'",
    agentWith({ model: 'openai/gpt-5' }),
    "ReActAgent: model must be a model such as openai({ model: 'gpt-5' }); got a string.",
  ],
  [
    'tools: { add }',
    agentWith({ tools: { add } }),
    'ReActAgent: tools must be an array or a Toolkit; got an object.',
  ],
  [
    'instructions',
    agentWith({ instructions: 'Be brief.' }),
    `ReActAgent has no option \`instructions\`. It has: ${agentOptions}.`,
  ],
  [
    'an unknown limit',
    agentWith({ limits: { steps: 3 } }),
    expect.stringMatching(/^ReActAgent: limits has no option `steps`. It has: iterations, /),
  ],
  [
    "openai('gpt-5')",
    () => openai('gpt-5' as never),
    'The options of openai() must be an object; got a string.',
  ],
  [
    "dashscope('qwen3-max')",
    () => dashscope('qwen3-max' as never),
    'The options of dashscope() must be an object; got a string.',
  ],
  [
    'inputSchema',
    () => tool({ name: 'a', description: 'A', input: {}, inputSchema: {} } as never),
    'tool() has no option `inputSchema`. Use `input`.',
  ],
])('the error about a common mistake names what is possible: %s', (_mistake, make, message) => {
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message }));
});

test.each<[mistake: string, options: object, message: string]>([
  [
    'output: z.object()',
    { output: z.object({}) },
    'call(): output must be structured(schema); got an object.',
  ],
  [
    'abortSignal',
    { abortSignal: new AbortController().signal },
    expect.stringMatching(/^call\(\) has no option `abortSignal`. It has: signal, /),
  ],
  [
    'an unknown option',
    { stream: true },
    expect.stringMatching(/^call\(\) has no option `stream`. It has: /),
  ],
  ...['sessionId', 'systemPrompt', 'limits', 'userId', 'tools', 'memory'].map(
    (key): [string, object, string] => [
      key,
      { [key]: 'x' },
      `call() has no option \`${key}\`. Set it on the agent.`,
    ],
  ),
  ['null', null as never, 'The options of call() must be an object; got null.'],
])('call() and stream() reject %s in the call options', async (_mistake, options, message) => {
  const agent = new ReActAgent({ name: 'a', model });
  const error = expect.objectContaining({ code: 'INVALID_INPUT', message });
  await expect(agent.call('hi', options)).rejects.toThrow(error);
  // `throwOnError: false` also throws, because a caller could overlook an error result.
  if (options) {
    const lenient = { ...options, throwOnError: false };
    await expect(agent.call('hi', lenient)).rejects.toThrow(error);
  }
  expect(() => agent.stream('hi', options)).toThrow(error);
});

test('a call option with the name of an agent option is accepted if it is `undefined`', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Fine.']) });
  const options: object = { sessionId: undefined, limits: undefined };
  expect((await agent.call('hi', options)).text).toBe('Fine.');
});

test('call() accepts messages in the format of other libraries, with a text as the content', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Fine.']) });
  await agent.call([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi. How are you?' },
    { role: 'user', content: 'And you?' },
  ]);
  const messages = await agent.messages();
  expect(messages.map((message) => [message.role, textOf(message)])).toEqual([
    ['user', 'Hello'],
    ['assistant', 'Hi. How are you?'],
    ['user', 'And you?'],
    ['assistant', 'Fine.'],
  ]);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
});

test.each([
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: ' ' },
  { role: 'user', content: 5 },
])('call() rejects %j, because it is not a message', async (item) => {
  const agent = new ReActAgent({ name: 'a', model });
  const message =
    "Item 0 of the input is neither a message nor a decision. Create messages with userMessage('…').";
  await expect(agent.call([item as never])).rejects.toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT', message }),
  );
});

test('a schema as `output` does not compile', () => {
  const output = z.object({});
  // @ts-expect-error The compiler says: Wrap the schema: structured(schema).
  const options: CallOptions = { output };
  expect(options.output).toBe(output);
});
