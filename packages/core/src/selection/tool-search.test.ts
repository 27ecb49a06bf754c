import { expect, test, vi } from 'vitest';
import { toolResultsOf, textOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { selectTools, type ToolSelector } from './select-tools.ts';
import { tool, type Tool, type ToolOptions } from '../tool/tool.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { agentTool } from '../several/agent-tool.ts';
import { structured } from '../output/structured.ts';
import { todoList } from '../results/todo-list.ts';
import { toolSearch, type ToolSearchOptions } from './tool-search.ts';

const input = { type: 'object' } as const;
const own = (
  name: string,
  description: string,
  more: Partial<ToolOptions<typeof input>> = {},
): Tool => tool({ name, description, input, execute: () => `${name} ran`, ...more });
const office = [
  own('sendMail', 'Sends an e-mail to somebody'),
  own('cal_add', 'Puts a meeting into the calendar'),
  own('weather', '도시의 날씨를 알려 준다'),
  own('trains', '列車の時刻表を調べる'),
  own('clock', 'Tells the time'),
];
const search = (query: unknown): ScriptedReply => ({
  toolCalls: [{ name: 'retrieve_tools', input: { query } as never }],
});
const use = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name })),
});

function setUp(
  replies: readonly ScriptedReply[],
  options: ToolSearchOptions = {},
  more: Partial<AgentOptions> = {},
) {
  const { agent, model } = scriptedAgent(replies, {
    tools: office,
    systemPrompt: 'Be kind.',
    ...more,
    use: more.use ?? [toolSearch(options)],
  });
  const shown = (): readonly (readonly string[])[] =>
    model.requests.map((request) => request.tools.map(({ name }) => name));
  const outputs = async (): Promise<readonly unknown[]> => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages.flatMap(toolResultsOf).map(({ output }) => output);
  };
  return { model, agent, shown, outputs };
}

test('the model first gets only the search tool, and from the next step on also the found tools', async () => {
  const { agent, model, shown, outputs } = setUp([
    search('send a mail'),
    use('sendMail'),
    'done',
    'more',
  ]);
  await agent.call('Mail Ann');
  expect(shown()).toEqual([
    ['retrieve_tools'],
    ['retrieve_tools', 'sendMail'],
    ['retrieve_tools', 'sendMail'],
  ]);
  expect(await outputs()).toEqual([
    '{"tools":[{"name":"sendMail","description":"Sends an e-mail to somebody"}]}',
    'sendMail ran',
  ]);
  expect(textOf(model.requests[0]!.messages[0]!)).toMatch(
    /^Be kind\.\n\nYou have more tools than you see\..*retrieve_tools/s,
  );
  await agent.call('And again');
  expect(shown()[3]).toEqual(['retrieve_tools', 'sendMail']);
});

test('a call of a tool that was not found gets an error that asks to search first, even beside a search', async () => {
  const { agent, outputs } = setUp([
    {
      toolCalls: [
        { name: 'retrieve_tools', input: { query: 'time' } },
        { name: 'clock' },
        { name: 'nothing' },
      ],
    },
    use('clock'),
    'done',
  ]);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('When?')) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  expect((await outputs()).toSorted()).toEqual(
    [
      'Error: Tool not available: clock. Search for it with retrieve_tools first. You can call the tools that it finds from your next step on.',
      'Error: Tool not found: nothing. Available: retrieve_tools.',
      '{"tools":[{"name":"clock","description":"Tells the time"}]}',
      'clock ran',
    ].toSorted(),
  );
});

test.each([
  ['서울 날씨', 'weather'],
  ['列車', 'trains'],
  ['時刻', 'trains'],
  ['ＭＡＩＬ', 'sendMail'],
  ['meetings', 'cal_add'],
  ['cal add', 'cal_add'],
])('a search finds tools by words in any language: %s', async (query, name) => {
  const { agent, shown } = setUp([search(query), 'done']);
  await agent.call('Go');
  expect(shown()[1]).toEqual(['retrieve_tools', name]);
});

test('a search that finds nothing succeeds, and a search without words is an error', async () => {
  const { agent, outputs, shown } = setUp([search('quantum'), search(' '), search(5), 'done']);
  await agent.call('Go');
  expect(await outputs()).toEqual([
    '{"tools":[],"hint":"Nothing fits. Try other words, or continue without."}',
    'Error: query: a string that is not empty',
    'Error: query: a string that is not empty',
  ]);
  expect(shown()[3]).toEqual(['retrieve_tools']);
});

test('tools in `alwaysOffer`, sub-agents and tools of middleware are offered from the start and not searched', async () => {
  const child = agentTool(new ReActAgent({ name: 'helper', model: new ScriptedModel([]) }), {
    description: 'Sends mail, too',
  });
  const extensions = (options: ToolSearchOptions) => [toolSearch(options), todoList()];
  const tools = [...office, child];
  const replies = [search('send mail write todo list clock'), 'done'];
  const usual = setUp(replies, {}, { tools, use: [...extensions({ alwaysOffer: ['clock'] })] });
  await usual.agent.call('Go');
  expect(usual.shown()[0]).toEqual(['retrieve_tools', 'write_todos', 'clock', 'call_helper']);
  expect(usual.shown()[1]).toEqual([
    'retrieve_tools',
    'write_todos',
    'clock',
    'call_helper',
    'sendMail',
  ]);
  const hidden = setUp(replies, {}, { tools, use: [...extensions({ childAgents: false })] });
  await hidden.agent.call('Go');
  expect(hidden.shown()[0]).toEqual(['retrieve_tools', 'write_todos']);
  expect(hidden.shown()[1]).toContain('call_helper');
});

test('the tool of structured output and a forced tool are offered from the start', async () => {
  const { agent, shown } = setUp([{ toolCalls: [{ name: 'generate_response', input: { n: 1 } }] }]);
  const schema = { type: 'object', properties: { n: { type: 'number' } } } as const;
  expect(await agent.call('Go', { output: structured(schema) })).toMatchObject({
    output: { n: 1 },
  });
  expect(shown()[0]).toEqual(['generate_response', 'retrieve_tools']);
  const chosen = setUp(['ok']);
  await chosen.agent.call('Go', { toolChoice: { name: 'clock' } });
  expect(chosen.shown()[0]).toEqual(['retrieve_tools', 'clock']);
});

test('tools that were found stay available after a resume in another agent', async () => {
  const tools = [own('pay', 'Pays a bill', { needsApproval: true }), ...office];
  const { agent } = setUp([search('pay the bill'), use('pay')], {}, { tools });
  expect(await agent.call('Pay')).toMatchObject({ reason: 'suspended' });
  const other = setUp(['done'], {}, { tools });
  await loadState(other.agent, JSON.parse(JSON.stringify(await saveState(agent))));
  await other.agent.call([{ toolUseId: 'call_2', type: 'approve' }]);
  expect((await other.outputs())[1]).toBe('pay ran');
  expect(other.shown()).toEqual([['retrieve_tools', 'pay']]);
});

test('open calls execute, even of tools that no search found', async () => {
  const tools = [own('pay', 'Pays a bill', { needsApproval: true })];
  const before = new ReActAgent({ name: 'a', model: new ScriptedModel([use('pay')]), tools });
  await before.call('Pay');
  const { agent, outputs } = setUp(['done'], {}, { tools });
  await loadState(agent, await saveState(before));
  await agent.call([{ toolUseId: 'call_1', type: 'approve' }]);
  expect(await outputs()).toEqual(['pay ran']);
});

test('above `maxTools`, the tools found longest ago are removed', async () => {
  const { agent, shown, outputs } = setUp(
    [search('mail'), search('time'), search('mail'), search('meeting'), use('clock'), 'done'],
    {
      maxTools: 2,
    },
  );
  await agent.call('Go');
  expect(shown().slice(2)).toEqual([
    ['retrieve_tools', 'sendMail', 'clock'],
    ['retrieve_tools', 'sendMail', 'clock'],
    ['retrieve_tools', 'sendMail', 'cal_add'],
    ['retrieve_tools', 'sendMail', 'cal_add'],
  ]);
  expect((await outputs())[4]).toContain('Search for it with retrieve_tools first');
});

test('a search result shortens long descriptions, but the request has the whole description', async () => {
  const { agent, outputs, model } = setUp(
    [search('mail'), 'done'],
    {},
    { tools: [own('mail', '🙂'.repeat(400))] },
  );
  await agent.call('Go');
  expect(await outputs()).toEqual([
    `{"tools":[{"name":"mail","description":"${'🙂'.repeat(250)}…"}]}`,
  ]);
  expect(model.requests[1]!.tools[1]!.description).toBe('🙂'.repeat(400));
});

test('a search finds at most `limit` tools', async () => {
  const many = Array.from({ length: 9 }, (_, index) => own(`mail_${index}`, 'Does mail'));
  const usual = setUp([search('mail'), 'done'], {}, { tools: many });
  await usual.agent.call('Go');
  expect(usual.shown()[1]).toHaveLength(6);
  const few = setUp([search('mail'), 'done'], { limit: 2 }, { tools: many });
  await few.agent.call('Go');
  expect(few.shown()[1]).toEqual(['retrieve_tools', 'mail_0', 'mail_1']);
});

test('with `evenWhenFew: false`, all tools are offered if there are few', async () => {
  const few = setUp([use('clock'), 'done'], { evenWhenFew: false });
  await few.agent.call('Go');
  expect(few.shown()[0]).toEqual(office.map(({ name }) => name));
  expect(textOf(few.model.requests[0]!.messages[0]!)).toBe('Be kind.');
  const more = setUp(['done'], { evenWhenFew: false, limit: 4 });
  await more.agent.call('Go');
  expect(more.shown()[0]).toEqual(['retrieve_tools']);
});

test('with `embed`, a search is by meaning', async () => {
  const embed = vi.fn(async (texts: readonly string[]) =>
    texts.map((text) => (/post|mail/.test(text) ? [1, 0] : [0, 1])),
  );
  const { agent, shown, outputs } = setUp([search('post'), 'done'], { embed });
  await agent.call('Go');
  expect(shown()[1]).toEqual(['retrieve_tools', 'sendMail']);
  const none = setUp([search('post'), 'done'], {
    embed: async (texts) => texts.map((_text, index) => (index ? [0, 1] : [1, 0])),
  });
  await none.agent.call('Go');
  expect(none.shown()[1]).toEqual(['retrieve_tools']);
  const failing = setUp([search('post'), 'done'], {
    embed: () => Promise.reject(new Error('no vectors')),
  });
  await failing.agent.call('Go');
  expect(await failing.outputs()).toEqual(['Error: no vectors']);
  expect(await outputs()).toHaveLength(1);
});

test('a custom search replaces the default one', async () => {
  const by: ToolSelector = async (query, tools) => [
    query,
    'nothing',
    'clock',
    ...tools.map(({ name }) => name),
  ];
  const { agent, shown } = setUp([search('trains'), 'done'], { search: by, limit: 2 });
  await agent.call('Go');
  expect(shown()[1]).toEqual(['retrieve_tools', 'trains', 'clock']);
});

test('`allowTools` of a call and the groups of a toolkit limit the search', async () => {
  const allowed = setUp([search('mail time'), 'done']);
  await allowed.agent.call('Go', { allowTools: ['clock'] });
  expect(allowed.shown()[1]).toEqual(['retrieve_tools', 'clock']);
  const kit = new Toolkit(
    [own('moon', 'Shows the time by the moon', { group: 'night' }), ...office],
    {
      groups: [{ name: 'night', description: 'At night', active: false }],
    },
  );
  const grouped = setUp([search('time'), 'done'], {}, { tools: kit });
  await grouped.agent.call('Go');
  expect(grouped.shown()[1]).toEqual(['retrieve_tools', 'clock']);
});

test('can be combined with selectTools() in either order', async () => {
  const selecting = () => selectTools({ by: () => ['sendMail', 'clock'], alwaysOffer: [] });
  for (const extensions of [
    [selecting(), toolSearch()],
    [toolSearch(), selecting()],
  ]) {
    const { agent } = setUp([search('mail time meeting'), 'done'], {}, { use: [...extensions] });
    expect(await agent.call('Go')).toMatchObject({ reason: 'stop' });
  }
});

test('a model without tool calling gets neither the search tool nor its prompt', async () => {
  const model = new ScriptedModel(['ok'], { features: { tools: false } });
  const { agent } = setUp([], {}, { model });
  await agent.call('Go');
  expect(model.requests[0]!.tools).toEqual([]);
  expect(textOf(model.requests[0]!.messages[0]!)).toBe('Be kind.');
});

test('an abort ends a search', async () => {
  const controller = new AbortController();
  const { agent } = setUp([search('mail')], {
    search: () => (controller.abort(), new Promise<never>(() => {})),
  });
  expect(await agent.call('Go', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ state: 'interrupted' }]);
});

test('rejects a tool with the name of the search tool', async () => {
  const { agent } = setUp(['ok'], {}, { tools: [own('retrieve_tools', 'Mine')] });
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test.each([
  { alwaysOffer: 'clock' },
  { alwaysOffer: [5] },
  { limit: -1 },
  { limit: 1.5 },
  { maxTools: 0.5 },
  { threshold: 2 },
  { embed: true },
  { search: 'x' },
  { threshold: Number.NaN },
  { prompt: 1 },
  null,
])('toolSearch() rejects the options %o', (options) => {
  expect(() => toolSearch(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
