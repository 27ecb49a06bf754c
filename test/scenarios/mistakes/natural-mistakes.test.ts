import { expect, test } from 'vitest';
import * as z from 'zod';
import { dashscope } from '@isoloop/core/dashscope';
import {
  textOf,
  type Middleware,
  type UseList,
  tool,
  type CallOptions,
  ReActAgent,
} from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { ScriptedModel } from '@isoloop/core/testing';
import { piiRule, lengthRule } from '@isoloop/guards';
import { Semaphore } from '@isoloop/core/limits';
import { Agent } from '@isoloop/core/agent';
import { retry } from '@isoloop/core/resilience';
import { joinTools } from '@isoloop/core/tool';

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
  'generate, generateId, now, monotonicNow, onHookError, whenBusy, presetPriority, preCallHooks, ' +
  'deferRound, interruptWhenIdle, returnDirect, onLimit, retrievalRole';

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
    `ReActAgent has no option \`instructions\`. It has: ${agentOptions}. Use \`systemPrompt\`.`,
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
    expect.stringMatching(
      /^tool\(\) has no option `inputSchema`. It has: name, description, input, /,
    ),
  ],
  [
    'no options',
    () => new ReActAgent(undefined as never),
    'The options of ReActAgent must be an object; got nothing.',
  ],
  [
    'one tool instead of a list',
    agentWith({ tools: add }),
    'ReActAgent: tools must be an array or a Toolkit; got an object.',
  ],
  [
    'one tool in joinTools()',
    () => joinTools(add as never),
    'joinTools(): source must be an array or a Toolkit; got an object.',
  ],
  [
    'the options of tool() as a tool',
    agentWith({ tools: [{ name: 'a', description: 'A', input: z.object({}), execute: () => 1 }] }),
    'A tool made without tool(): schema must be an object; got nothing.',
  ],
  [
    'a tool in the format of OpenAI',
    agentWith({ tools: [{ type: 'function', function: { name: 'a', parameters: {} } }] }),
    'A tool made without tool(): name must be a string; got nothing.',
  ],
  [
    'wrapModel that returns nothing',
    agentWith({ use: [{ wrapModel: () => {} }] }),
    'wrapModel() of "unnamed": result must be a model such as openai({ model: \'gpt-5\' }); got nothing.',
  ],
  [
    'wrapModel that returns a promise',
    agentWith({ use: [{ wrapModel: async (next: unknown) => next }] }),
    'wrapModel() of "unnamed": result must be a model such as openai({ model: \'gpt-5\' }); got an object.',
  ],
])('the error about a common mistake names what is possible: %s', (_mistake, make, message) => {
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message }));
});

test.each<[option: string, make: (given: object) => unknown, meant: string]>([
  ['maxRetries', retry, 'attempts'],
  ['preReasoning', (given) => agentWith({ use: [{ on: given }] })(), 'pre-reasoning'],
  ['max_tokens', (given) => agentWith({ generate: given })(), 'maxTokens'],
  ['maxIterations', (given) => agentWith({ limits: given })(), 'iterations'],
  ['prompt', (given) => agentWith(given)(), 'systemPrompt'],
  ['api_key', (given) => openai({ model: 'm', ...given }), 'apiKey'],
])('the error about the unknown option %s lists all options', (option, make, meant) => {
  const list = new RegExp(`has no option \`${option}\`. It has: .*\\b${meant}\\b`);
  expect(() => make({ [option]: 1 })).toThrow(list);
});

test.each<[part: string, given: object, message: string]>([
  [
    'wrapInput',
    { wrapInput: async () => true },
    'The result of wrapInput() of "unnamed" must be an object; got a boolean.',
  ],
  [
    'wrapSettle',
    { wrapSettle: async () => {} },
    'The result of wrapSettle() of "unnamed" must be an object; got nothing.',
  ],
  ...[
    'wrapRun',
    'wrapInput',
    'wrapSettle',
    'wrapRequest',
    'wrapReply',
    'wrapRound',
    'wrapTool',
  ].map((key): [string, object, string] => [
    key,
    { [key]: () => {} },
    `${key}() of "unnamed" returned no promise. Its shape is async ${key}(input, next, run) { … return next(input); }.`,
  ]),
])('a %s that returns a value of a wrong kind fails the call', async (_part, given, message) => {
  const calling = new ScriptedModel([{ toolCalls: [{ name: 'add', input: { a: 1 } }] }, 'Done.']);
  const use = [given as Middleware];
  const agent = new ReActAgent({ name: 'a', model: calling, tools: [add], use });
  const error = expect.objectContaining({ code: 'CONFIGURATION', message });
  await expect(agent.call('hi')).rejects.toThrow(error);
});

test('a call that is not awaited makes the next call fail with advice', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Fine.']) });
  const first = agent.call('one');
  const message = 'The agent "a" is busy. Await its call, or set whenBusy.';
  await expect(agent.call('two')).rejects.toThrow(
    expect.objectContaining({ code: 'AGENT_BUSY', message }),
  );
  expect((await first).text).toBe('Fine.');
});

test.each<[mistake: string, options: object, message: string]>([
  ['output: z.object()', { output: z.object({}) }, 'call(): output must be structured(schema).'],
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

test.each<[what: string, part: object, member: string]>([
  ['an output rule', piiRule(), 'find'],
  ['a semaphore', new Semaphore(2), 'size'],
  ['a tool', add, 'description'],
  ['options', { name: 'mine', attempts: 3 }, 'attempts'],
])('%s in `use` is refused, because it would do nothing', async (_what, part, member) => {
  const message = expect.stringMatching(
    `^A middleware has no option \`${member}\`. It has: name, `,
  );
  const refused = expect.objectContaining({ code: 'CONFIGURATION', message });
  for (const use of [[part], [[part]]]) {
    expect(agentWith({ use })).toThrow(refused);
    await expect(agentWith({})().call('Hi', { use } as CallOptions)).rejects.toThrow(refused);
  }
});

test('a middleware may have members of its own, methods of a class, or only a name', () => {
  class Watching {
    readonly seen: string[] = [];
    readonly on = {
      '*': ({ type }: { readonly type: string }): void => void this.seen.push(type),
    };
  }
  const own = { name: 'own', tools: [], find: () => [] };
  expect(agentWith({ use: [new Watching(), own, { name: 'answerAtLimit' }] })).not.toThrow();
});

test('an output rule or a tool in `use` does not compile', () => {
  // @ts-expect-error The compiler says: Put output rules into outputGuards([…]).
  const rules: UseList = [piiRule(), lengthRule({ max: 10 })];
  // @ts-expect-error The compiler says: Put tools into the option tools.
  const tools: UseList = [[add]];
  // @ts-expect-error No member of a middleware.
  const semaphores: UseList = [new Semaphore(2)];
  expect([rules, tools, semaphores].flat(2)).toHaveLength(4);
});

test('the compiler names an option that stands in place of `input`', () => {
  const schema = z.object({ a: z.number() });
  const make = () =>
    tool({
      name: 'a',
      description: 'A',
      // @ts-expect-error The compiler says: 'inputSchema' does not exist in type 'ToolOptions'.
      inputSchema: schema,
      execute: ({ a }) => a,
    });
  expect(make).toThrow('It has: name, description, input');
});

test.each(['wrapRun', 'wrapInput', 'wrapSettle', 'wrapRequest', 'wrapReply'])(
  'a `%s` that returns a function fails the call, and the error says the shape',
  async (key) => {
    const shaped = {
      [key]: (next: (value: unknown) => unknown) => async (given: unknown) => next(given),
    };
    const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use: [shaped] });
    await expect(agent.call('Hi')).rejects.toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: `${key}() of "unnamed" returned a function. Its shape is async ${key}(input, next, run) { … return next(input); }.`,
      }),
    );
  },
);

test.each<[key: string, problem: string, outcome?: object]>([
  ['wrapRun', 'text must be a string; got nothing.'],
  ['wrapRequest', 'tools must be an array; got nothing.'],
  [
    'wrapReply',
    "kind must be 'answer' or 'custom' or 'stored' or 'limit' or 'unanswered'; got nothing.",
  ],
  [
    'wrapSettle',
    "reason must be 'stop' or 'limit' or 'max-iterations' or 'return-direct' or " +
      "'stopped-by-hook' or 'interrupted' or 'rejected' or 'aborted' or 'suspended'; got nothing.",
    { kind: 'unanswered' },
  ],
])(
  'an outcome of `%s` of the wrong kind is refused',
  async (key, problem, outcome = { messages: [] }) => {
    const part = { [key]: async () => outcome };
    const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use: [part] });
    await expect(agent.call('Hi')).rejects.toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: `The result of ${key}() of "unnamed": ${problem}`,
      }),
    );
  },
);

test('an ending without an answer needs no message', async () => {
  const ending = { kind: 'unanswered', reason: 'stop' } as const;
  const use = [{ wrapReply: async () => ending }];
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: '' });
});
