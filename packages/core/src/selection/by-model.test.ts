import { expect, test, vi } from 'vitest';
import type { AgentError } from '../error/agent-error.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { textOf } from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { byModel, type ByModelOptions } from './by-model.ts';
import { selectTools } from './select-tools.ts';
import { tool } from '../tool/tool.ts';

const names = Array.from({ length: 12 }, (_, index) => `t${index}`);

function setUp(
  chosen: readonly ScriptedReply[],
  options: Partial<ByModelOptions> = {},
  count = 12,
) {
  const small = new ScriptedModel(chosen);
  const model = new ScriptedModel(['ok', 'ok']);
  const onError = vi.fn<(error: AgentError) => void>();
  const tools = names
    .slice(0, count)
    .map((name) =>
      tool({ name, description: `Does ${name}`, input: { type: 'object' }, execute: () => name }),
    );
  const selecting = selectTools({
    by: byModel({ model: small, ...options }),
    alwaysOffer: [],
    maxTools: Infinity,
    onError,
  });
  const agent = new ReActAgent({ name: 'a', model, tools, use: [selecting] });
  const shown = (): readonly string[] => model.requests.at(-1)!.tools.map(({ name }) => name);
  return { small, agent, shown, onError };
}

test('offers the tools that the model names, and adds the usage of this request to that of the call', async () => {
  const { small, agent, shown } = setUp(['{"tools":["t3","t11","t3","other"]}']);
  const { usage } = await agent.call('Go </question>');
  expect(shown()).toEqual(['t3', 't11']);
  expect(usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
  const [system, user] = small.requests[0]!.messages;
  expect(textOf(system!)).toContain('{"tools":["name"]}, the best first, at most 10');
  expect(textOf(user!)).toContain('{"name":"t0","description":"Does t0"}');
  expect(textOf(user!)).toContain('Go &lt;/question>');
});

test('the request to the model carries the data of the run', async () => {
  const small = new ScriptedModel(['{"tools":["t1"]}']);
  const stream = vi.spyOn(small, 'stream');
  const tools = names.map((name) =>
    tool({ name, description: '', input: { type: 'object' }, execute: () => name }),
  );
  const extensions = [selectTools({ by: byModel({ model: small }), alwaysOffer: [] })];
  const { agent } = scriptedAgent(['ok'], {
    tools,
    use: [...extensions],
    sessionId: 's',
    userId: 'ann',
  });
  await agent.call('Go');
  expect(stream.mock.calls[0]![1]).toMatchObject({
    run: { sessionId: 's', userId: 'ann', agentPath: ['a'] },
  });
});

test('reads a list with text and a fence around it', async () => {
  const { agent, shown } = setUp(['Here they are:\n```json\n{"tools": ["t1"]}\n```']);
  await agent.call('Go');
  expect(shown()).toEqual(['t1']);
});

test('does not ask the model if the number of tools is within the maximum', async () => {
  const { small, agent, shown } = setUp([], {}, 10);
  await agent.call('Go');
  expect([shown(), small.requests]).toEqual([names.slice(0, 10), []]);
  const included = setUp([], { alwaysOffer: ['t10', 't11'] });
  await included.agent.call('Go');
  expect([included.shown(), included.small.requests]).toEqual([names, []]);
});

test('does not count tools that are always included, and does not ask the model about them', async () => {
  const { small, agent, shown } = setUp(['{"tools":["t1","t2","t3"]}'], {
    maxTools: 2,
    alwaysOffer: ['t0'],
  });
  await agent.call('Go');
  expect(shown()).toEqual(['t0', 't1', 't2']);
  expect(textOf(small.requests[0]!.messages[1]!)).not.toContain('"t0"');
});

test('an empty list is a valid answer', async () => {
  const { agent, shown, onError } = setUp(['{"tools":[]}'], { alwaysOffer: ['t4'] });
  await agent.call('Go');
  expect([shown(), onError.mock.calls]).toEqual([['t4'], []]);
});

test.each([
  ['a failure', { error: new Error('down') }, 'down'],
  ['silence', { hang: true }, 'The model server sent no content for 1 ms'],
  ['a text without JSON', 't1 and t2', 'The model returned no list of tools.'],
  ['JSON of another form', '["t1"]', 'The model returned no list of tools.'],
  ['the names of unknown tools', '{"tools":["a","b"]}', 'The model named only unknown tools.'],
] as const)('offers all tools after %s', async (_what, reply, message) => {
  const { agent, shown, onError } = setUp([reply], { timeoutMs: 1 });
  await agent.call('Go');
  expect(shown()).toEqual(names);
  expect(onError.mock.calls).toEqual([[expect.objectContaining({ message })]]);
});

test('an abort ends the wait for the model', async () => {
  const controller = new AbortController();
  const { agent, onError } = setUp([{ wait: async () => controller.abort(), hang: true }]);
  expect(await agent.call('Go', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect(onError).not.toHaveBeenCalled();
});

test.each([
  {},
  { maxTools: 'x' },
  { maxTools: 1.5 },
  { alwaysOffer: [null] },
  { alwaysOffer: 't1' },
  { timeoutMs: -1 },
])('byModel() rejects the options %o', (options) => {
  const given = Object.keys(options).length
    ? { model: new ScriptedModel([]), ...options }
    : options;
  expect(() => byModel(given as never)).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
