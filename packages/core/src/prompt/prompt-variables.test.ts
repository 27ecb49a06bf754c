import { expect, test } from 'vitest';
import { fitContext } from '../context/fit-context.ts';
import { piiGuard } from '@isoloop/guards';
import { textOf, userText } from '../message/msg.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { look } from '@test/support/plain-tools.ts';
import {
  callVariables,
  promptVariables,
  type TemplateVariables,
  type PromptVariablesOptions,
  renderTemplate,
  type TemplateOptions,
} from './prompt-variables.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { countMessage } from '../tokens/count-message.ts';
import { contextToken, provide } from '../tool/context-token.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { replaceKey } from '../state/state-key.ts';
import { stateKeys } from '../state/state-keys.ts';
import { todoList } from '../results/todo-list.ts';

const perCall = contextToken<TemplateVariables>('prompt variables');

function setUp(
  systemPrompt: string,
  variables: PromptVariablesOptions,
  options: Partial<AgentOptions> = {},
) {
  const { agent, model } = scriptedAgent(
    Array.from({ length: 9 }, (_, n) => `answer ${n}`),
    { systemPrompt, ...options, use: [promptVariables(variables), ...(options.use ?? [])] },
  );
  return {
    agent,
    model,
    prompts: () => model.requests.map(({ messages }) => messages.map(textOf)[0]),
  };
}

test('variables of a call override fixed variables', async () => {
  const { agent, prompts } = setUp('${who} at ${where}, ${more}', {
    variables: { who: 'Ann', where: 'home' },
    token: perCall,
  });
  await agent.call('${who}?');
  await agent.call('Hi', { toolContext: [provide(perCall, { where: 'work', more: '${who}' })] });
  await agent.call('Hi');
  expect(prompts()).toEqual([
    'Ann at home, ${more}',
    'Ann at work, ${who}',
    'Ann at home, ${more}',
  ]);
  expect((await agent.messages()).map(textOf)[0]).toBe('${who}?');
});

test('a `variables` function runs once per call, even if the call makes several requests', async () => {
  let asked = 0;
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'One.', 'Two.']);
  const extension = promptVariables({ variables: async () => ({ n: ++asked }) });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look],
    systemPrompt: 'Call ${n}',
    use: [extension],
  });
  await agent.call('Hi');
  await agent.call('Hi');
  expect(model.requests.map(({ messages }) => textOf(messages[0]!))).toEqual([
    'Call 1',
    'Call 1',
    'Call 2',
  ]);
});

test("with `form: '{}'`, variables in braces are replaced, and JSON is kept", async () => {
  const { agent, prompts } = setUp('{who}: {"who": "{0}"}', {
    variables: { who: 'Ann {who}' },
    form: '{}',
  });
  await agent.call('Hi');
  expect(prompts()).toEqual(['Ann {who}: {"who": "{0}"}']);
});

test('the same text is the same message object, and context policies and hooks get the rendered prompt', async () => {
  const seen: string[] = [];
  const before: number[] = [];
  const { agent, model } = setUp(
    'Know: ${facts}',
    { token: perCall },
    {
      use: [
        { on: { 'pre-reasoning': ({ messages }) => void seen.push(textOf(messages[0]!)) } },
        fitContext({ window: 100_000 }),
      ],
    },
  );
  const toolContext = [provide(perCall, { facts: 'x'.repeat(4000) })];
  await agent.call('Hi', { toolContext });
  await agent.call('Hi', { toolContext });
  expect(model.requests[1]!.messages[0]).toBe(model.requests[0]!.messages[0]);
  expect(seen[0]).toBe(`Know: ${'x'.repeat(4000)}`);
  const small = setUp(
    'Know: ${facts}',
    { token: perCall },
    {
      use: [
        {
          wrapRequest: (draft, next) => {
            before.push(countMessage(draft.messages[0]!));
            return next(draft);
          },
        },
      ],
    },
  );
  await small.agent.call('Hi', { toolContext });
  expect(before[0]).toBeGreaterThan(900);
});

test('agents with the same promptVariables() do not share a prompt, and an agent without a prompt gets none', async () => {
  const extensions = [promptVariables({ variables: { x: '1' } })];
  const model = new ScriptedModel(['a', 'b', 'c', 'd']);
  const agents = ['A${x}', 'B${x}', '', '${x}'].map(
    (systemPrompt) => new ReActAgent({ name: 'a', model, systemPrompt, use: [...extensions] }),
  );
  for (const agent of agents) await agent.call('Hi');
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
    ['A1', 'Hi'],
    ['B1', 'Hi'],
    ['Hi'],
    ['1', 'Hi'],
  ]);
});

test('a prompt that renders to a blank text is omitted', async () => {
  const { agent, model } = setUp('${x}', { variables: { x: ' ' } });
  await agent.call('Hi');
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['Hi']);
});

test('prompts of other middleware are not rendered, in any order, even if the agent’s own prompt is blank', async () => {
  const variables = promptVariables({ variables: { x: ' ', todos: 'no' }, form: '{}' });
  const list = todoList({ prompt: 'Lists: {todos} {x}' });
  for (const extensions of [
    [variables, list],
    [list, variables],
  ]) {
    const model = new ScriptedModel(['a', 'b']);
    await new ReActAgent({
      name: 'a',
      model,
      systemPrompt: 'Base {todos}',
      use: [...extensions],
    }).call('Hi');
    await new ReActAgent({ name: 'a', model, systemPrompt: '{x}', use: [...extensions] }).call(
      'Hi',
    );
    expect(model.requests.map(({ messages }) => textOf(messages[0]!))).toEqual([
      'Base no\n\nLists: {todos} {x}',
      'Lists: {todos} {x}',
    ]);
  }
});

test('a `variables` function gets the guarded input, the last user message of a resumed run, and the session’s values', async () => {
  const state = stateKeys({ city: replaceKey('Bern') });
  const ask = tool({ name: 'ask', description: '', input: { type: 'object' } });
  const variables = promptVariables({
    variables: (call) => ({ said: userText(call.input), city: state.of(call).read('city') }),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'ask', id: 'c' }] }, 'Done.']);
  const extensions = [variables, state, piiGuard()];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [ask],
    systemPrompt: '${said} in ${city}',
    use: [...extensions],
  });
  await agent.call('I am ann@example.com');
  state.of(agent).write({ city: 'Rome' });
  await agent.call([{ toolUseId: 'c', type: 'result', output: 'yes' }]);
  const prompts = model.requests.map(({ messages }) => textOf(messages[0]!));
  expect(prompts).toEqual(['I am [EMAIL] in Bern', 'I am [EMAIL] in Rome']);
});

test('a missing variable, or a `variables` function that fails, ends the call before anything is stored', async () => {
  const strict = setUp('${who}', { token: perCall, missing: 'fail' });
  const events: string[] = [];
  const stream = strict.agent.stream('Hi');
  const read = async (): Promise<void> => {
    for await (const { type } of stream) events.push(type);
  };
  await expect(read()).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    details: { missing: ['who'] },
  });
  expect(events.slice(-2)).toEqual(['error', 'run-end']);
  expect(await strict.agent.messages()).toEqual([]);
  expect(
    await strict.agent.call('Hi', { toolContext: [provide(perCall, { who: 'Ann' })] }),
  ).toMatchObject({ text: 'answer 0' });

  const broken = setUp('${who}', { variables: () => Promise.reject(new Error('no database')) });
  expect(await broken.agent.call('Hi', { throwOnError: false })).toMatchObject({
    error: { code: 'INVALID_INPUT', message: 'no database' },
  });
});

test.each(['abort', 'interrupt'] as const)('an %s ends the wait for the variables', async (how) => {
  let asked!: () => void;
  const waits = new Promise<void>((resolve) => (asked = resolve));
  const { agent, model } = setUp('${who}', { variables: () => (asked(), new Promise(() => {})) });
  const stream = agent.stream('Hi');
  const { result } = stream;
  await waits;
  if (how === 'abort') stream.cancel();
  else agent.interrupt('Stopped.');
  expect(await result).toMatchObject(
    how === 'abort' ? { reason: 'aborted' } : { reason: 'interrupted', text: 'Stopped.' },
  );
  expect(model.requests).toEqual([]);
});

test('variables of a call can be passed with `callVariables`, without a custom token', async () => {
  const { agent, prompts } = setUp(
    '${who} at ${where}',
    { variables: { who: 'Ann' } },
    { toolContext: [provide(callVariables, { where: 'home' })] },
  );
  await agent.call('Hi');
  await agent.call('Hi', { toolContext: [provide(callVariables, { who: 'Bo', where: 'work' })] });
  expect(prompts()).toEqual(['Ann at home', 'Bo at work']);
});

test('`toolsVariable` names a variable that describes the tools that each request offers', async () => {
  const named = (name: string) =>
    tool({ name, description: `Does ${name}: ${'${who}'}`, input: {}, execute: () => 'done' });
  const { agent, model } = scriptedAgent(
    [{ toolCalls: [{ name: 'one' }] }, 'Done.', 'Done.', 'Done.'],
    {
      systemPrompt: '{tools}\n{who}',
      tools: [named('one'), named('two')],
      use: [
        promptVariables({ form: '{}', toolsVariable: 'tools', variables: { who: 'Ann {tools}' } }),
        todoList({ prompt: 'Keep {tools}.' }),
        {
          on: {
            'pre-reasoning': (event, { iteration }) =>
              iteration === 2
                ? { ...event, tools: event.tools.filter(({ name }) => name === 'one') }
                : undefined,
          },
        },
      ],
    },
  );
  await agent.call('Hi');
  await agent.call('Hi', { toolChoice: 'none' });
  const shown = model.requests.map(({ messages }) => textOf(messages[0]!));
  const names = shown.map((text) => [...text.matchAll(/^Tool: (.*)$/gm)].map(([, name]) => name));
  expect(names[0]).toEqual(expect.arrayContaining(['one', 'two']));
  expect(names.slice(1)).toEqual([['one'], []]);
  expect(shown[0]).toContain('Description: Does one: ${who}\n');
  for (const text of shown) expect(text).toMatch(/\nAnn \{tools\}\n\nKeep \{tools\}\.$/);
});

test('a system prompt that a hook sets during the call is kept', async () => {
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'Done.'], {
    tools: [look],
    systemPrompt: '${tools}',
    use: [
      promptVariables({ toolsVariable: 'tools' }),
      {
        on: {
          'post-acting': (_event, run) => run.prompt.set('Mine.'),
          'pre-reasoning': (event, { iteration }) =>
            iteration === 2 ? { ...event, tools: [] } : undefined,
        },
      },
    ],
  });
  await agent.call('Hi');
  expect(model.requests.map(({ messages }) => textOf(messages[0]!))).toEqual([
    expect.stringContaining('Tool: look'),
    'Mine.',
  ]);
});

test('promptVariables() rejects invalid options', () => {
  for (const options of [
    null,
    { variables: 'x' },
    { token: 'x' },
    { form: '<>' },
    { missing: true },
    { toolsVariable: 1 },
  ]) {
    expect(() => promptVariables(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});

test.each<[text: string, variables: TemplateVariables, rendered: string]>([
  ['Hello ${name}.', { name: 'Ann' }, 'Hello Ann.'],
  ['${a}${b}${a}', { a: '1', b: '2' }, '121'],
  ['${a} ${unknown} ${a b} ${} $a {a} \\${a}', { a: 'x' }, 'x ${unknown} ${a b} ${} $a {a} \\x'],
  ['${a}', { a: '${b} ${a} $& $1 $$', b: 'no' }, '${b} ${a} $& $1 $$'],
  ['${a', { a: '${b}' }, '${a'],
  ['$${a}', { a: '{b}' }, '${b}'],
  ['${城市} ${été} ${n_1}', { 城市: '東京', été: 'ja', n_1: 1 }, '東京 ja 1'],
  [
    '${n} ${b} ${o} ${z} ${u}',
    { n: 1.5, b: false, o: { a: ['x'] }, z: null, u: undefined },
    '1.5 false {"a":["x"]} null ${u}',
  ],
  ['${constructor} ${toString} ${__proto__}', {}, '${constructor} ${toString} ${__proto__}'],
  ['', { a: 'x' }, ''],
])('renderTemplate() renders %j with %j', (text, variables, rendered) => {
  expect(renderTemplate(text, variables)).toBe(rendered);
});

test.each<[text: string, rendered: string]>([
  ['Hello {name}, {unknown}.', 'Hello Ann, {unknown}.'],
  ['{"name": "x", "list": [{}]} {name}', '{"name": "x", "list": [{}]} Ann'],
  ['{{name}} { name } {na-me}', '{Ann} { name } {na-me}'],
  ['${name}', '$Ann'],
  ['{twice}', '{name} ${name}'],
])("with `form: '{}'`, renderTemplate() replaces variables in braces: %j", (text, rendered) => {
  expect(renderTemplate(text, { name: 'Ann', twice: '{name} ${name}' }, { form: '{}' })).toBe(
    rendered,
  );
});

test("with `missing: 'fail'`, the error names all missing variables", () => {
  const error = expect.objectContaining({
    code: 'INVALID_INPUT',
    message: 'The prompt has variables without a value: b, c.',
    details: { missing: ['b', 'c'] },
  });
  expect(() =>
    renderTemplate('${a} ${b} ${c} ${b}', { a: '${d}', c: undefined }, { missing: 'fail' }),
  ).toThrow(error);
  expect(renderTemplate('${a}', { a: '${d}' }, { missing: 'fail' })).toBe('${d}');
});

test('renderTemplate() takes linear time for a long text of possible variables', () => {
  for (const piece of ['${', '{', '$', '${a', '{a{']) {
    const text = piece.repeat(200_000);
    expect(renderTemplate(text, { a: 'x' })).toBe(text);
    expect(renderTemplate(text, { a: 'x' }, { form: '{}' })).toBe(text);
  }
  const name = `\${${'a'.repeat(1_000_000)}`;
  expect(renderTemplate(name, {})).toBe(name);
});

test.each<[text: unknown, variables: unknown, options: unknown]>([
  [5, {}, {}],
  [undefined, {}, {}],
  ['', null, {}],
  ['', 'x', {}],
  ['', {}, { form: '{{}}' }],
  ['', {}, { missing: 'throw' }],
])('renderTemplate() rejects the arguments %j, %j, %j', (text, variables, options) => {
  const render = (): string =>
    renderTemplate(text as string, variables as TemplateVariables, options as TemplateOptions);
  expect(render).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
});
