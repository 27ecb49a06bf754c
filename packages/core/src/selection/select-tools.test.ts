import { expect, test, vi } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { jsonMode } from '../output/json-and-yaml-mode.ts';
import { structured } from '../output/structured.ts';
import type { AgentError } from '../error/agent-error.ts';
import { toolResultsOf, userMessage } from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { byModel } from './by-model.ts';
import { byCategory, type ToolCategory } from './by-category.ts';
import { bySimilarity } from './by-similarity.ts';
import type { Middleware } from '../agent/middleware.ts';
import { todoList } from '../results/todo-list.ts';
import { metaTool } from '../tool/set/meta-tool.ts';
import { selectTools, type SelectToolsOptions, type ToolSelector } from './select-tools.ts';
import { tool, type Tool, type ToolOptions } from '../tool/tool.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import { toolSearch } from './tool-search.ts';

const input = { type: 'object' } as const;

function own(name: string, more: Partial<ToolOptions<typeof input>> = {}): Tool {
  return tool({ name, description: `Does ${name}`, input, execute: () => `${name} ran`, ...more });
}

const remote = (name: string): Tool => own(name, { server: 'srv' });

function setUp(
  replies: readonly ScriptedReply[],
  tools: AgentOptions['tools'],
  select: SelectToolsOptions,
  options: Partial<AgentOptions> = {},
) {
  const { agent, model } = scriptedAgent(replies, {
    tools: tools ?? [],
    ...options,
    use: [selectTools(select), ...(options.use ?? [])],
  });
  const shown = (): readonly (readonly string[])[] =>
    model.requests.map((request) => request.tools.map(({ name }) => name));
  return { model, agent, shown };
}

/** Returns the names of the tools that a selector chooses. */
async function chosenBy(
  by: ToolSelector,
  question: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const schemas = names.map((name) => ({ name, description: `Does ${name}`, parameters: {} }));
  return by(question, schemas, { signal: new AbortController().signal });
}

const named = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `t${index}`);

test('a server’s tools come last, and `maxTools` limits the number of all tools', async () => {
  const tools = [...named(18).map(remote), own('a'), own('b'), own('c')];
  const usual = setUp(['ok'], tools, {});
  await usual.agent.call('Hi');
  expect(usual.shown()).toEqual([['a', 'b', 'c', ...named(17)]]);
  const few = setUp(['ok'], tools, { maxTools: 2 });
  await few.agent.call('Hi');
  expect(few.shown()).toEqual([['a', 'b']]);
  const all = setUp(['ok'], tools, { maxTools: Infinity });
  await all.agent.call('Hi');
  expect(all.shown()[0]).toHaveLength(21);
});

test('a selector chooses among the agent’s own tools, and tools of middleware are always offered', async () => {
  const by = vi.fn<ToolSelector>(() => ['b', 'r']);
  const added: Middleware = { tools: [own('added'), own('far', { server: 'srv' })] };
  const { agent, shown } = setUp(
    ['ok', 'ok'],
    [own('a'), own('b'), remote('r'), remote('s')],
    { by },
    { use: [added, todoList()] },
  );
  await agent.call('Hi');
  expect(by.mock.calls[0]![1].map(({ name }) => name).toSorted()).toEqual([
    'a',
    'b',
    'far',
    'r',
    's',
  ]);
  expect(shown()[0]!.slice(0, 2).toSorted()).toEqual(['added', 'write_todos']);
  expect(shown()[0]!.slice(2)).toEqual(['b', 'r']);
});

test.each<[string, Partial<SelectToolsOptions>, readonly string[]]>([
  ['keeps', {}, ['retrieve_tools']],
  ['drops, with an empty `alwaysOffer`,', { alwaysOffer: [] }, []],
])('a selector %s the search tool of toolSearch()', async (_what, options, expected) => {
  const { agent, model } = scriptedAgent(['ok'], {
    tools: [own('a')],
    use: [toolSearch(), selectTools({ by: () => [], ...options })],
  });
  await agent.call('Hi');
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(expected);
});

test('a selector chooses by the last question, only from tools that are not in `alwaysOffer`, and the request has them in its order', async () => {
  const by = vi.fn<ToolSelector>(() => ['d', 'c', 'nothing', 'here', 'b']);
  const { agent, shown } = setUp(
    ['one', 'two'],
    [own('here'), remote('b'), remote('c'), remote('d')],
    { by, maxTools: 3, alwaysOffer: ['here'] },
  );
  await agent.call('First');
  await agent.call([userMessage('Second'), userMessage('Third')]);
  expect(
    by.mock.calls.map(([question, tools]) => [question, tools.map(({ name }) => name)]),
  ).toEqual([
    ['First', ['b', 'c', 'd']],
    ['Third', ['b', 'c', 'd']],
  ]);
  expect(shown()).toEqual([
    ['here', 'd', 'c'],
    ['here', 'd', 'c'],
  ]);
});

test('the tool of a forced choice comes after those that the selector chose, and is not cut', async () => {
  const { agent, shown } = setUp(
    ['ok'],
    ['a', 'b', 'c', 'd'].map((name) => own(name)),
    {
      by: () => ['d', 'c', 'b'],
      maxTools: 3,
    },
  );
  await agent.call('Hi', { toolChoice: { name: 'a' } });
  expect(shown()).toEqual([['d', 'c', 'a']]);
});

test('`alwaysOffer` may be empty or name other tools', async () => {
  const by: ToolSelector = () => ['a'];
  const none = setUp(['ok'], [own('a'), own('b')], { by, alwaysOffer: [] });
  await none.agent.call('Hi');
  expect(none.shown()).toEqual([['a']]);
  const some = setUp(['ok'], [own('a'), own('b'), remote('c')], { by, alwaysOffer: ['c'] });
  await some.agent.call('Hi');
  expect(some.shown()).toEqual([['c', 'a']]);
});

test('a tool that was not offered does not run, and the next question may select it', async () => {
  const by: ToolSelector = (question) => [question];
  const { agent, shown } = setUp(
    [
      { toolCalls: [{ name: 'b' }, { name: 'a' }, { name: 'none' }] },
      'done',
      { toolCalls: [{ name: 'b' }] },
      'done',
    ],
    [remote('a'), remote('b')],
    { by },
  );
  await agent.call('a');
  await agent.call('b');
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'Error: Tool not available: b. It is not among the tools of this request.',
    'a ran',
    'Error: Tool not found: none. Available: a.',
    'b ran',
  ]);
  expect(shown()).toEqual([['a'], ['a'], ['b'], ['b']]);
});

test('selects once per question, in however many requests, and again for an injected message', async () => {
  const by = vi.fn<ToolSelector>((question) => [question]);
  const { agent, shown } = setUp(
    [{ toolCalls: [{ name: 'a' }] }, { toolCalls: [{ name: 'a' }] }, 'done'],
    [remote('a'), remote('b')],
    { by },
    {
      use: [
        {
          on: {
            'post-acting': ({ iteration }) =>
              void (iteration === 2 && agent.interrupt({ mode: 'inject', messages: 'b' })),
          },
        },
      ],
    },
  );
  await agent.call('a');
  expect(by.mock.calls.map(([question]) => question)).toEqual(['a', 'b']);
  expect(shown()).toEqual([['a'], ['a'], ['b']]);
});

test('a correction that the loop asks for does not change the selection', async () => {
  const by = byCategory([
    { keywords: ['mail'], tools: ['mail'] },
    { keywords: ['answer'], tools: ['faq'] },
  ]);
  const { agent, shown } = setUp(['No.', '{}', 'No.', '{}'], [remote('mail'), remote('faq')], {
    by,
  });
  for (const output of [jsonMode(), structured({ type: 'object' }, { mode: 'prompt' })])
    await agent.call('My mail', { output });
  expect(shown()).toEqual([['mail'], ['mail'], ['mail'], ['mail']]);
});

test('if a selector fails, all tools are offered and the error is reported, by default to the console', async () => {
  const errors: AgentError[] = [];
  const fails: ToolSelector = () => Promise.reject(new Error('no vectors'));
  const told = setUp(['ok'], [remote('a'), remote('b')], {
    by: fails,
    onError: (error) => errors.push(error),
  });
  expect(await told.agent.call('Hi')).toMatchObject({ text: 'ok' });
  expect(told.shown()).toEqual([['a', 'b']]);
  expect(errors).toMatchObject([{ name: 'AgentError', message: 'no vectors' }]);
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const untold = setUp(['ok'], [remote('a')], { by: fails });
  await untold.agent.call('Hi');
  expect(untold.shown()).toEqual([['a']]);
  expect(warn).toHaveBeenCalledWith(
    expect.stringContaining('could not be selected'),
    expect.stringContaining('AgentError: no vectors\n'),
  );
  const throws = setUp(['ok'], [remote('a')], {
    by: fails,
    onError: () => {
      throw new Error('listener');
    },
  });
  expect(await throws.agent.call('Hi')).toMatchObject({ text: 'ok' });
  warn.mockRestore();
});

test('an abort or an interrupt ends the wait for a selector', async () => {
  for (const end of ['abort', 'interrupt'] as const) {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const by: ToolSelector = (_question, _tools, { signal }) => {
      signals.push(signal);
      queueMicrotask(() => (end === 'abort' ? controller.abort() : agent.interrupt()));
      return new Promise(() => {});
    };
    const { agent, model } = setUp(['never'], [remote('a')], { by });
    const { reason, iterations } = await agent.call('Hi', { signal: controller.signal });
    expect(iterations).toBe(0);
    expect(reason).toBe(end === 'abort' ? 'aborted' : 'interrupted');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(model.requests).toHaveLength(0);
  }
});

test('several agents can share one extension at the same time', async () => {
  const extension = selectTools({ by: async (question) => [question] });
  const agents = ['a', 'b'].map((name) => {
    const model = new ScriptedModel(['ok']);
    const agent = new ReActAgent({
      name,
      model,
      sessionId: 's',
      tools: [remote('a'), remote('b')],
      use: [extension],
    });
    return { model, call: () => agent.call(name) };
  });
  await Promise.all(agents.map(({ call }) => call()));
  expect(agents.map(({ model }) => model.requests[0]!.tools.map(({ name }) => name))).toEqual([
    ['a'],
    ['b'],
  ]);
});

test('an open call of an earlier run executes even if its tool is no longer selected', async () => {
  const pay = own('pay', { server: 'srv', needsApproval: true });
  let isChosen = true;
  const { agent, shown } = setUp([{ toolCalls: [{ name: 'pay' }] }, 'done'], [pay, remote('b')], {
    by: () => (isChosen ? ['pay'] : ['b']),
  });
  const { pending } = await agent.call('Pay');
  isChosen = false;
  await agent.call([{ type: 'approve', toolUseId: pending[0]!.toolUseId }]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ output: 'pay ran' }]);
  expect(shown()).toEqual([['pay'], ['b']]);
});

test('respects allowTools, groups, a forced tool, structured output, other hooks and limits', async () => {
  const tools = [remote('a'), remote('b'), own('c')];
  const by: ToolSelector = () => ['a'];
  const alwaysOffer = ['c'];
  const allowed = setUp(['ok'], tools, { by });
  await allowed.agent.call('Hi', { allowTools: ['a', 'b'] });
  expect(allowed.shown()).toEqual([['a']]);

  const wanted = setUp(['ok'], tools, { by, maxTools: 1, alwaysOffer });
  await wanted.agent.call('Hi', { toolChoice: { name: 'b' } });
  expect(wanted.shown()).toEqual([['b']]);

  const typed = setUp([{ toolCalls: [{ name: 'generate_response', input: { x: 1 } }] }], tools, {
    by,
    maxTools: 1,
    alwaysOffer,
  });
  await typed.agent.call('Hi', {
    output: structured({ type: 'object', properties: { x: { type: 'number' } } }),
  });
  expect(typed.shown()).toEqual([['generate_response', 'c']]);

  const hook = setUp(
    ['ok'],
    tools,
    { by, alwaysOffer },
    {
      use: [{ on: { 'pre-reasoning': (event) => ({ ...event, tools: event.tools.slice(0, 1) }) } }],
    },
  );
  await hook.agent.call('Hi');
  expect(hook.shown()).toEqual([['c']]);

  const limited = setUp(
    [{ toolCalls: [{ name: 'c' }] }, 'ok'],
    tools,
    { by, alwaysOffer },
    { limits: { toolCalls: 1 } },
  );
  await limited.agent.call('Hi');
  expect(limited.shown()).toEqual([['c', 'a'], []]);

  const groups = [{ name: 'g', description: 'More', active: false }];
  const kit = new Toolkit([metaTool(), own('d', { group: 'g' }), remote('a')], { groups });
  const switched = setUp(
    [{ toolCalls: [{ name: 'switch_tool_groups', input: { groups: ['g'] } }] }, 'ok'],
    kit,
    { by: () => ['d', 'a'] },
  );
  await switched.agent.call('Hi');
  expect(switched.shown()).toEqual([
    ['switch_tool_groups', 'a'],
    ['switch_tool_groups', 'd', 'a'],
  ]);
});

test('a later hook can remove a tool, even after a new selection', async () => {
  const { agent, shown } = setUp(
    [{ toolCalls: [{ name: 'a' }] }, 'done'],
    [remote('a'), remote('b'), own('c')],
    { by: (question) => [question] },
    {
      use: [
        {
          on: {
            'post-acting': () => void agent.interrupt({ mode: 'inject', messages: 'b' }),
            'pre-reasoning': (event) => ({
              ...event,
              tools: event.tools.filter(({ name }) => name !== 'c'),
            }),
          },
        },
      ],
    },
  );
  await agent.call('a');
  expect(shown()).toEqual([['a'], ['b']]);
});

test('selects by a question that a hook changed, and the context policy gets only the selected tools', async () => {
  const counted: number[] = [];
  const { agent, shown } = setUp(
    ['ok'],
    [remote('a'), remote('b')],
    { by: (question) => [question] },
    {
      use: [
        {
          wrapRequest: (draft, next) => {
            counted.push(draft.tools.length);
            return next(draft);
          },
        },
        { on: { 'pre-call': (event) => ({ ...event, input: [userMessage('b')] }) } },
      ],
    },
  );
  await agent.call('a');
  expect(shown()).toEqual([['b']]);
  expect(counted).toEqual([1]);
});

test('does not ask the selector if the model cannot call tools', async () => {
  const by = vi.fn<ToolSelector>(() => []);
  const model = new ScriptedModel(['ok']);
  const plain = {
    provider: 'p',
    modelId: 'm',
    features: { tools: false, media: [] },
    stream: model.stream.bind(model),
  };
  const agent = new ReActAgent({
    name: 'a',
    model: plain,
    tools: [remote('a')],
    use: [selectTools({ by })],
  });
  await agent.call('Hi');
  expect(by).not.toHaveBeenCalled();
});

test('for a message without text, all tools are offered', async () => {
  const by = vi.fn<ToolSelector>(() => []);
  const { agent, shown } = setUp(['ok'], [remote('a')], { by });
  await agent.call(
    userMessage([{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }]),
  );
  expect(shown()).toEqual([['a']]);
  expect(by).not.toHaveBeenCalled();
});

const categories: readonly ToolCategory[] = [
  { keywords: ['mail', '메일', '郵便', '邮件'], tools: ['send_mail', 'read_mail'] },
  { keywords: ['Calendar', '일정', '予定', '日程'], tools: ['cal_*', 'read_mail'] },
  { keywords: [' '], tools: ['never'] },
];
const offered = ['send_mail', 'read_mail', 'cal_add', 'cal_list', 'clock', 'never'];
const mail = ['send_mail', 'read_mail', 'clock'];
const calendar = ['read_mail', 'cal_add', 'cal_list', 'clock'];

test.each<[question: string, chosen: readonly string[]]>([
  ['Send a MAIL to Ann', mail],
  ['Forward my emails', mail],
  ['메일을 보내 주세요', mail],
  ['메일을 보내 주세요'.normalize('NFD'), mail],
  ['郵便を送って', mail],
  ['ｍａｉｌを送って', mail],
  ['请发邮件给安', mail],
  ['오늘 일정이 뭐야?', calendar],
  ['明日の予定は?', calendar],
  ['明天有什么日程', calendar],
  ['Put the mail into my calendar', ['send_mail', 'read_mail', 'cal_add', 'cal_list', 'clock']],
  ['What time is it?', offered],
])('byCategory() selects by the question: %s', async (question, chosen) => {
  expect(await chosenBy(byCategory(categories), question, offered)).toEqual(chosen);
});

test.each<[pattern: string, chosen: readonly string[]]>([
  ['cal_*', ['cal_add', 'cal_list']],
  ['*_mail', ['send_mail', 'read_mail']],
  ['*_*', ['send_mail', 'read_mail', 'cal_add', 'cal_list']],
  ['c*k', ['clock']],
  ['*', offered],
  ['none_*', []],
])('%s selects the same tools in every option that takes names', async (pattern, chosen) => {
  const rest = { keywords: ['never said'], tools: ['*'] };
  const by = byCategory([{ keywords: ['go'], tools: [pattern] }, rest]);
  expect(await chosenBy(by, 'go', offered)).toEqual(chosen);
  const tools = offered.map((name) => own(name));
  const always = setUp(['ok'], tools, { by: () => [], alwaysOffer: [pattern] });
  await always.agent.call('go');
  expect(always.shown()).toEqual([chosen]);
  const choosing = byModel({
    model: new ScriptedModel(['{"tools":[]}']),
    maxTools: 0,
    alwaysOffer: [pattern],
  });
  expect(await chosenBy(choosing, 'go', offered)).toEqual(chosen);
  const model = new ScriptedModel(['ok']);
  const use = [toolSearch({ alwaysOffer: [pattern] })];
  await new ReActAgent({ name: 'a', model, tools, use }).call('go');
  const shown = model.requests[0]!.tools.map(({ name }) => name);
  expect(shown.filter((name) => name !== 'retrieve_tools')).toEqual(chosen);
});

/**
 * Vectors by the first letter of a text: q points along the first axis, and a almost does. b lies
 * halfway between the axes, z along the second, and n has no length.
 */
const direction: Readonly<Record<string, readonly number[]>> = {
  q: [1, 0],
  a: [1, 0.1],
  b: [1, 1],
  z: [0, 1],
  n: [0, 0],
};

function embedder() {
  return vi.fn(async (texts: readonly string[]) => texts.map((text) => direction[text[0]!]!));
}

test('bySimilarity() returns the tools above the threshold, the best first, and embeds each tool once', async () => {
  const embed = embedder();
  const by = bySimilarity({ embed, maxTools: 3 });
  expect(await chosenBy(by, 'q', ['z1', 'b1', 'a1', 'n1'])).toEqual(['a1', 'b1']);
  expect(await chosenBy(by, 'q', ['b1', 'a1', 'z1', 'a2', 'a3'])).toEqual(['a1', 'a2', 'a3']);
  expect(embed.mock.calls.map(([texts]) => texts)).toEqual([
    ['q', 'z1: Does z1', 'b1: Does b1', 'a1: Does a1', 'n1: Does n1'],
    ['q', 'a2: Does a2', 'a3: Does a3'],
  ]);
});

test('bySimilarity() has the default threshold and limit of Arc Reactor', async () => {
  const by = bySimilarity({
    embed: async (texts) => texts.map((_text, index) => [1, index ? 3.17 : 0]),
  });
  // The cosine is 0.3008 for each tool, so ten of them are selected.
  expect(await chosenBy(by, 'q', named(12))).toEqual(named(10));
  const below = bySimilarity({
    embed: async (texts) => texts.map((_text, index) => [1, index ? 3.19 : 0]),
  });
  expect(await chosenBy(below, 'q', named(12))).toEqual(named(12));
});

test('bySimilarity() returns all tools if there are few, without embedding them, or if none is similar', async () => {
  const embed = embedder();
  const by = bySimilarity({ embed, maxTools: 2 });
  expect(await chosenBy(by, 'q', ['z1', 'z2'])).toEqual(['z1', 'z2']);
  expect(embed).not.toHaveBeenCalled();
  expect(await chosenBy(by, 'q', ['z1', 'z2', 'n3'])).toEqual(['z1', 'z2', 'n3']);
});

test('bySimilarity() embeds a changed description again, and vectors of different lengths do not match', async () => {
  let length = 2;
  const embed = vi.fn(async (texts: readonly string[]) =>
    texts.map(() => Float32Array.from({ length }, () => 1)),
  );
  const by = bySimilarity({ embed, maxTools: 1 });
  await chosenBy(by, 'q', ['a1', 'a2']);
  const changed = [
    { name: 'a1', description: 'New', parameters: {} },
    { name: 'a2', description: 'Does a2', parameters: {} },
  ];
  length = 3;
  expect(await by('q', changed, { signal: new AbortController().signal })).toEqual(['a1']);
  expect(embed.mock.calls.at(-1)![0]).toEqual(['q', 'a1: New']);
});

test('bySimilarity() rejects if a text has no vector', async () => {
  const by = bySimilarity({ embed: async () => [[1]], maxTools: 1 });
  await expect(chosenBy(by, 'q', ['a', 'b'])).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('3 vectors'),
  });
});

test.each<[make: () => unknown, words: string]>([
  [() => selectTools({ by: 'all' as never }), 'selectTools(): by must be'],
  [() => selectTools({ maxTools: -1 }), 'selectTools(): maxTools must be'],
  [() => selectTools({ maxTools: 1.5 }), 'selectTools(): maxTools must be a whole number'],
  [() => selectTools({ alwaysOffer: 'a' as never }), 'selectTools(): alwaysOffer must be'],
  [
    () => selectTools({ alwaysOffer: [5] as never }),
    'selectTools(): alwaysOffer must be an array of strings',
  ],
  [
    () => bySimilarity({ embed: async () => [], threshold: 1.1 }),
    'bySimilarity(): threshold must be',
  ],
  [
    () => bySimilarity({ embed: async () => [], maxTools: 1.5 }),
    'bySimilarity(): maxTools must be',
  ],
  [
    () => selectTools({ alwaysOffer: ['mail_.*'] }),
    'selectTools(): alwaysOffer has the pattern "mail_.*"',
  ],
  [
    () => byModel({ model: new ScriptedModel([]), alwaysOffer: ['(*)'] }),
    'byModel(): alwaysOffer has the pattern "(*)"',
  ],
  [() => toolSearch({ alwaysOffer: ['a *'] }), 'toolSearch(): alwaysOffer has the pattern "a *"'],
  [
    () => byCategory([{ keywords: ['mail'], tools: ['mail.*'] }]),
    'byCategory() has the pattern "mail.*"',
  ],
  [() => byCategory({} as never), 'byCategory(): categories must be an array'],
  [
    () => byCategory([{ keywords: 'mail', tools: [] } as never]),
    'byCategory(): a category: keywords must be an array',
  ],
  [
    () => byCategory([{ keywords: [5], tools: [] } as never]),
    'byCategory(): a category: keywords must be an array of strings',
  ],
  [
    () => byCategory([{ keywords: [], tools: [null] } as never]),
    'byCategory(): a category: tools must be an array of strings',
  ],
  [
    () => bySimilarity({ embed: async () => [], threshold: NaN }),
    'bySimilarity(): threshold must be',
  ],
  [() => bySimilarity({} as never), 'bySimilarity(): embed must be a function'],
  [
    () => bySimilarity({ embed: async () => [], threshold: '0.3' as never }),
    'bySimilarity(): threshold must be',
  ],
])('the error for an invalid option names the option: %s', (make, words) => {
  expect(make).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(words) }),
  );
});

test('bySimilarity() can select from few tools too', async () => {
  const embed = async (texts: readonly string[]): Promise<readonly (readonly number[])[]> =>
    texts.map((text) => (text.includes('mail') ? [1, 0] : [0, 1]));
  expect(await chosenBy(bySimilarity({ embed }), 'mail', ['mail', 'clock'])).toEqual([
    'mail',
    'clock',
  ]);
  expect(
    await chosenBy(bySimilarity({ embed, evenWhenFew: true }), 'mail', ['mail', 'clock']),
  ).toEqual(['mail']);
  expect(() => bySimilarity({ embed, evenWhenFew: 'yes' as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
