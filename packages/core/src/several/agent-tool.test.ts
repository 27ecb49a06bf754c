import { expect, test } from 'vitest';
import type { AgentEvent } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import {
  assistantMessage,
  createMessage,
  toolMessage,
  userMessage,
  outputText,
  textOf,
  toolResultsOf,
} from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { parentPath, provide } from '../tool/context-token.ts';
import { tool, type Tool } from '../tool/tool.ts';
import { Toolkit } from '../tool/set/toolkit.ts';
import { rolesOf } from '@test/roles-of.ts';
import { agentTool, type ChildAgent } from './agent-tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { RunView } from '../agent/middleware.ts';

const call = (message: string, session_id?: string, id?: string) => ({
  name: 'call_helper',
  input: { message, ...(session_id && { session_id }) },
  ...(id && { id }),
});
const results = (model: ScriptedModel) =>
  model.requests
    .at(-1)!
    .messages.flatMap(toolResultsOf)
    .map(({ state, output }) => [state, outputText(output)]);

interface Built {
  readonly parent: ReActAgent;
  readonly model: ScriptedModel;
  readonly made: { sessionId: string; model: ScriptedModel; agent: ReActAgent }[];
}

/** Creates a parent with one agent tool. Each child answers with the next script. */
function build(
  parentSays: readonly ScriptedReply[],
  childrenSay: readonly (readonly ScriptedReply[])[],
  childTools: readonly Tool[] = [],
  options: Partial<AgentOptions> = {},
): Built {
  const made: Built['made'] = [];
  const helper = agentTool(
    ({ sessionId }) => {
      const model = new ScriptedModel(childrenSay[made.length] ?? []);
      const agent = new ReActAgent({ name: 'helper', sessionId, model, tools: childTools });
      made.push({ sessionId, model, agent });
      return agent;
    },
    { name: 'helper', description: 'Helps' },
  );
  const model = new ScriptedModel(parentSays);
  return {
    parent: new ReActAgent({ name: 'boss', sessionId: 's', model, tools: [helper], ...options }),
    model,
    made,
  };
}

test.each([
  [[call('hello')], 'hi'],
  [[call('hello'), call('bye')], '["hi","session_id: 7\\n\\nsee you"]'],
])(
  'a direct answer of a child is its answer without the session id: %j',
  async (toolCalls, text) => {
    const says = [['hi'], ['session_id: 7\n\nsee you']];
    const { parent } = build([{ toolCalls }], says, [], { returnDirect: true });
    const result = await parent.call('go');
    expect(result).toMatchObject({ text, reason: 'return-direct' });
    // A later call of the model needs the session id.
    const outputs = (await parent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
    expect(outputs[0]).toBe('session_id: call_1\n\nhi');
  },
);

test('a direct answer of a child is the whole result if a hook has changed it', async () => {
  const { parent } = build([{ toolCalls: [call('hello')] }], [['hi']], [], {
    returnDirect: true,
    use: [
      {
        on: {
          'post-acting': (event) => ({ ...event, result: { ...event.result, output: 'changed' } }),
        },
      },
    ],
  });
  expect((await parent.call('go')).text).toBe('changed');
});

test('a child’s answer contains its session id, and a later tool call with that id continues the session', async () => {
  const { parent, model, made } = build(
    [{ toolCalls: [call('hello')] }, 'first', { toolCalls: [call('more', 'call_1')] }, 'second'],
    [['hi', 'hi again']],
  );
  await parent.call('go');
  expect(results(model)).toEqual([['success', 'session_id: call_1\n\nhi']]);
  await parent.call('again');
  expect(results(model).at(-1)).toEqual(['success', 'session_id: call_1\n\nhi again']);
  expect(made.map(({ sessionId }) => sessionId)).toEqual(['s:call_1']);
  expect(rolesOf(await made[0]!.agent.messages())).toBe('user assistant user assistant');
});

test('each tool call without a session id opens a new session, also if two run in parallel', async () => {
  const { parent, model, made } = build(
    [{ toolCalls: [call('a'), call('b')] }, 'done'],
    [['one'], ['two']],
  );
  await parent.call('go');
  expect(results(model)).toEqual([
    ['success', 'session_id: call_1\n\none'],
    ['success', 'session_id: call_2\n\ntwo'],
  ]);
  expect(made.map(({ sessionId }) => sessionId)).toEqual(['s:call_1', 's:call_2']);
});

test('two tool calls for one session run one after the other', async () => {
  const { parent, model } = build(
    [{ toolCalls: [call('a')] }, { toolCalls: [call('b', 'call_1'), call('c', 'call_1')] }, 'done'],
    [['one', 'two', 'three']],
  );
  await parent.call('go');
  expect(results(model).map(([, text]) => text)).toEqual(
    ['one', 'two', 'three'].map((text) => `session_id: call_1\n\n${text}`),
  );
});

test.for([['nope'], ['other_1']])(
  'a session id that the agent tool did not return earlier is an error result: %s',
  async ([id]) => {
    const { parent, model, made } = build([{ toolCalls: [call('a', id)] }, 'done'], [['never']]);
    await parent.call('go');
    expect(results(model)).toEqual([
      ['error', expect.stringContaining(`no session "${id}" of call_helper`)],
    ]);
    expect(made).toEqual([]);
  },
);

test('another host continues a child’s session from its log, and reports an error if that log is lost', async () => {
  const stores = { boss: new MemoryStore(), helper: new MemoryStore() };
  const host = (parentSays: readonly ScriptedReply[], childSays: readonly ScriptedReply[]) => {
    const model = new ScriptedModel(parentSays);
    const helper = agentTool(
      ({ sessionId }) =>
        new ReActAgent({
          name: 'helper',
          model: new ScriptedModel(childSays),
          memory: new SessionMemory(stores.helper, sessionId),
        }),
      { name: 'helper', description: '' },
    );
    const memory = new SessionMemory(stores.boss, 's');
    return {
      model,
      agent: new ReActAgent({ name: 'boss', sessionId: 's', model, memory, tools: [helper] }),
    };
  };
  await host([{ toolCalls: [call('a', undefined, 'x1')] }, 'done'], ['one']).agent.call('go');
  const next = host([{ toolCalls: [call('b', 'x1', 'x2')] }, 'done'], ['two']);
  await next.agent.call('again');
  expect(results(next.model).at(-1)).toEqual(['success', 'session_id: x1\n\ntwo']);
  stores.helper = new MemoryStore();
  const lost = host([{ toolCalls: [call('c', 'x1', 'x3')] }, 'done'], ['three']);
  await lost.agent.call('once more');
  expect(results(lost.model).at(-1)).toEqual(['error', expect.stringContaining('no session "x1"')]);
});

test('a claimed tool call reaches no log of a child, and an id with a colon no other session', async () => {
  const store = new MemoryStore();
  const at = async (sessionId: string, says: ScriptedReply, memory = new InMemoryMemory()) => {
    const model = new ScriptedModel([says, 'done']);
    const helper = agentTool(
      (child) =>
        new ReActAgent({
          name: 'helper',
          model: new ScriptedModel(['one']),
          memory: new SessionMemory(store, child.sessionId),
        }),
      { name: 'helper', description: '' },
    );
    const agent = new ReActAgent({ name: 'boss', sessionId, model, memory, tools: [helper] });
    await agent.call('go');
    return results(model);
  };
  const begun = ['success', 'session_id: c\n\none'];
  expect(await at('a:b', { toolCalls: [call('secret', undefined, 'c')] })).toEqual([begun]);
  const other = { toolCalls: [call('mine', undefined, 'b:c')] };
  expect(await at('a', other)).toEqual([['success', 'session_id: b:c\n\none']]);
  expect(await new SessionMemory(store, 'a%3Ab:c').read()).toHaveLength(2);
  const use = { type: 'tool_use', ...call('secret', undefined, 'c') } as const;
  const claimed = createMessage('assistant', [use as never], { metadata: { imported: true } });
  const memory = new InMemoryMemory();
  const result = { type: 'tool_result', toolUseId: 'c', name: 'call_helper', output: '' } as const;
  await memory.append([
    userMessage('go'),
    claimed,
    toolMessage([{ ...result, state: 'success' }]),
    assistantMessage('ok'),
  ]);
  expect((await at('a:b', { toolCalls: [call('tell', 'c', 'd')] }, memory)).at(-1)).toEqual([
    'error',
    expect.stringContaining('no session "c"'),
  ]);
});

type ChildKey = readonly [userId: string | undefined, sessionId: string];
const neighbors: readonly (readonly [what: string, one: ChildKey, other: ChildKey])[] = [
  ['two users with one session id', ['ann', 's'], ['bob', 's']],
  ['a user whose id ends like a session id', ['a:s', 't'], ['a', 's:t']],
  ['an agent without a user', [undefined, 'ann:s'], ['ann', 's']],
];

test.each(neighbors)('%s: each has a child session of its own', async (_what, ...keys) => {
  const made: string[] = [];
  for (const [userId, sessionId] of keys) {
    const helper = agentTool(
      (child) => {
        made.push(child.sessionId);
        return new ReActAgent({ name: 'helper', model: new ScriptedModel(['one']) });
      },
      { name: 'helper', description: '' },
    );
    const model = new ScriptedModel([{ toolCalls: [call('a')] }, 'done']);
    const user = userId === undefined ? {} : { userId };
    await new ReActAgent({ name: 'boss', ...user, sessionId, model, tools: [helper] }).call('go');
  }
  expect(new Set(made).size).toBe(2);
});

test('readers of the outer agent get the events of all nested agents, each with its path of agent names', async () => {
  const agent = (name: string, says: readonly ScriptedReply[], tools: readonly Tool[] = []) =>
    new ReActAgent({ name, model: new ScriptedModel(says), tools });
  const inner = agentTool(agent('inner', ['deep']), { description: '' });
  const middle = agentTool(
    agent(
      'middle',
      [{ toolCalls: [{ name: 'call_inner', input: { message: 'm' } }] }, 'mid'],
      [inner],
    ),
    {
      description: '',
    },
  );
  const outer = agent(
    'outer',
    [{ toolCalls: [{ name: 'call_middle', input: { message: 'm' } }] }, 'top'],
    [middle],
  );
  const events: AgentEvent[] = [];
  for await (const event of outer.stream('go')) events.push(event);
  const said = events.flatMap((event) =>
    event.type === 'reasoning-chunk' ? [[event.agentPath.join('/'), event.delta]] : [],
  );
  expect(said).toEqual([
    ['outer/middle/inner', 'deep'],
    ['outer/middle', 'mid'],
    ['outer', 'top'],
  ]);
  expect(events.map(({ seq }) => seq)).toEqual(
    events.map(({ seq }) => seq).toSorted((a, b) => a - b),
  );
});

test('a child’s failure is an error result, and its session stays usable', async () => {
  const { parent, model } = build(
    [{ toolCalls: [call('a')] }, { toolCalls: [call('b', 'call_1')] }, 'done'],
    [[{ error: new Error('broken') }, 'well again']],
  );
  await parent.call('go');
  expect(results(model)).toEqual([
    ['error', 'Error: helper failed: broken (session_id: call_1)'],
    ['success', 'session_id: call_1\n\nwell again'],
  ]);
});

test('the abort signal of the parent’s call stops the child', async () => {
  const { parent, made } = build([{ toolCalls: [call('a')] }], [[{ text: 'partial', hang: true }]]);
  const abort = new AbortController();
  const stream = parent.stream('go', { signal: abort.signal });
  for await (const event of stream) {
    if (event.type === 'reasoning-chunk' && event.agentPath.length === 2) abort.abort();
  }
  expect((await stream.result).reason).toBe('aborted');
  // The child finishes its log after the parent’s run has ended.
  await expect.poll(() => made[0]!.agent.busy).toBe(false);
  expect((await made[0]!.agent.messages()).at(-1)).toMatchObject({
    role: 'assistant',
    metadata: { partial: expect.anything() as unknown },
  });
});

test('two parents with the same agent tool never share a child', async () => {
  const made: string[] = [];
  const helper = agentTool(
    ({ sessionId }) => {
      made.push(sessionId);
      return new ReActAgent({ name: 'helper', model: new ScriptedModel(['hi']) });
    },
    { name: 'helper', description: '' },
  );
  for (const tools of [[helper], new Toolkit([helper])]) {
    const model = new ScriptedModel([{ toolCalls: [call('a')] }, 'done']);
    await new ReActAgent({ name: 'boss', sessionId: 's', model, tools }).call('go');
    expect(results(model)).toEqual([['success', 'session_id: call_1\n\nhi']]);
  }
  expect(made).toEqual(['s:call_1', 's:call_1']);
});

test('a spread copy of an agent tool works, and each parent gets a child of its own', async () => {
  const made: string[] = [];
  const child = ({ sessionId }: { readonly sessionId: string }): ChildAgent => {
    made.push(sessionId);
    return new ReActAgent({ name: 'helper', sessionId, model: new ScriptedModel(['hi']) });
  };
  const helper = {
    ...agentTool(child, { name: 'helper', description: 'Helps' }),
    returnDirect: true,
  };
  for (const sessionId of ['s', 't']) {
    const model = new ScriptedModel([{ toolCalls: [call('hello', undefined, 'x')] }]);
    const { reason } = await new ReActAgent({
      name: 'boss',
      sessionId,
      model,
      tools: [helper],
    }).call('go');
    expect(reason).toBe('return-direct');
  }
  expect(made).toEqual(['s:x', 't:x']);
});

test('agentTool() with an agent instead of a factory has exactly one session', async () => {
  const child = new ReActAgent({
    name: 'the helper!',
    sessionId: 'c',
    model: new ScriptedModel(['one', 'two']),
  });
  const helper = agentTool(child, { description: 'Helps' });
  expect(helper.schema).toMatchObject({ name: 'call_the_helper_', description: 'Helps' });
  const say = (message: string, session_id?: string) => ({
    name: 'call_the_helper_',
    input: { message, ...(session_id && { session_id }) },
  });
  const model = new ScriptedModel([
    { toolCalls: [say('a')] },
    { toolCalls: [say('b', 'c'), say('x', 'nope')] },
    'done',
  ]);
  await new ReActAgent({ name: 'boss', model, tools: [helper] }).call('go');
  expect(results(model)).toEqual([
    ['success', 'session_id: c\n\none'],
    ['success', 'session_id: c\n\ntwo'],
    ['error', expect.stringContaining('no session "nope"')],
  ]);
});

test('agentTool() shortens long names to the length that providers accept, and rejects a name without ASCII letters', () => {
  const named = (name: string) =>
    agentTool(() => Promise.reject(new Error('never')), { name, description: '' });
  expect(named('x'.repeat(100)).name).toBe(`call_${'x'.repeat(59)}`);
  expect(() => named('研究员')).toThrowError(expect.objectContaining({ code: 'CONFIGURATION' }));
  expect(() =>
    agentTool(() => Promise.reject(new Error('never')), { description: '' }),
  ).toThrowError(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test.for([[{}], [{ message: ' ' }], [{ message: 1 }], [{ message: 'a', session_id: 1 }], ['text']])(
  'an agent tool rejects the arguments %j',
  async ([input]) => {
    const { parent, model, made } = build(
      [{ toolCalls: [{ name: 'call_helper', input: input as never }] }, 'done'],
      [],
    );
    await parent.call('go');
    expect(results(model)).toEqual([['error', expect.stringContaining('do not fit its schema')]]);
    expect(made).toEqual([]);
  },
);

test('a factory that fails causes an error result', async () => {
  const helper = agentTool(() => Promise.reject(new Error('no room')), {
    name: 'helper',
    description: '',
  });
  const model = new ScriptedModel([{ toolCalls: [call('a')] }, 'done']);
  await new ReActAgent({ name: 'boss', model, tools: [helper] }).call('go');
  expect(results(model)).toEqual([['error', 'Error: no room']]);
});

test('the model gets the name, description and parameters of an agent tool', () => {
  const { agent } = lone();
  expect(agentTool(agent, { description: 'Helps' }).schema).toMatchObject({
    name: 'call_x',
    description: 'Helps',
    parameters: {
      type: 'object',
      properties: {
        message: { type: 'string', description: expect.any(String) },
        session_id: { type: 'string', description: expect.any(String) },
      },
      required: ['message'],
      additionalProperties: false,
    },
  });
});

test('agentTool() accepts the timeout, group and replay options of any tool', () => {
  const { agent } = lone();
  const helper = agentTool(agent, { description: '', timeoutMs: 5, group: 'g', replay: 'safe' });
  expect(helper).toMatchObject({ timeoutMs: 5, groups: ['g'], replay: 'safe' });
});

test('a factory needs a name option, even if the function has a name', () => {
  function helper(): ReActAgent {
    return lone().agent;
  }
  expect(() => agentTool(helper, { description: '' })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.for([
  ['null', 'message: a string that is not blank'],
  [{ message: ' ' }, 'message: a string that is not blank'],
  [{ message: 'go', session_id: 5 }, 'session_id: a text'],
] as const)('the error result names the invalid argument: %j', async ([input, words]) => {
  const { parent, model, made } = build(
    [{ toolCalls: [{ name: 'call_helper', input }] }, 'ok'],
    [],
  );
  await parent.call('go');
  expect(results(model)).toEqual([['error', expect.stringContaining(words)]]);
  expect(made).toEqual([]);
});

test.for(['', null])('an empty session id opens a new session: %j', async (session_id) => {
  const { parent, model } = build(
    [{ toolCalls: [{ name: 'call_helper', input: { message: 'go', session_id } }] }, 'ok'],
    [['hi']],
  );
  await parent.call('go');
  expect(results(model)).toEqual([['success', 'session_id: call_1\n\nhi']]);
});

test('the id of another tool’s call is not a session id', async () => {
  const { parent, model, made } = build(
    [{ toolCalls: [{ name: 'none', id: 'n1' }] }, { toolCalls: [call('go', 'n1')] }, 'ok'],
    [['hi']],
  );
  await parent.call('go');
  expect(results(model).at(-1)).toEqual([
    'error',
    expect.stringContaining('There is no session "n1"'),
  ]);
  expect(made).toEqual([]);
});

test('two parallel tool calls that continue a session share one child', async () => {
  const child = new InMemoryMemory([userMessage('hello'), assistantMessage('hi')]);
  const models: ScriptedModel[] = [];
  const helper = agentTool(
    async ({ sessionId }) => {
      const model = new ScriptedModel(['one', 'two']);
      models.push(model);
      return new ReActAgent({ name: 'helper', sessionId, model, memory: child });
    },
    { name: 'helper', description: '' },
  );
  const use = {
    type: 'tool_use',
    id: 'c0',
    name: 'call_helper',
    input: { message: 'hello' },
  } as const;
  const result = {
    type: 'tool_result',
    toolUseId: 'c0',
    name: 'call_helper',
    output: 'hi',
    state: 'success',
  } as const;
  const memory = new InMemoryMemory([
    userMessage('go'),
    assistantMessage([use]),
    toolMessage(result),
    assistantMessage('done'),
  ]);
  const model = new ScriptedModel([{ toolCalls: [call('a', 'c0'), call('b', 'c0')] }, 'ok']);
  await new ReActAgent({ name: 'boss', sessionId: 's', model, memory, tools: [helper] }).call(
    'more',
  );
  expect(models.map(({ requests }) => requests.length).toSorted()).toEqual([0, 2]);
});

test('after an abort of the parent, a tool call that waits for the child sends the child no message', async () => {
  const controller = new AbortController();
  const model = new ScriptedModel([{ wait: async () => controller.abort(), hang: true }, 'late']);
  const agent = new ReActAgent({ name: 'helper', model });
  const boss = new ScriptedModel([{ toolCalls: [call('one'), call('two')] }]);
  const parent = new ReActAgent({
    name: 'boss',
    model: boss,
    tools: [agentTool(agent, { description: '' })],
  });
  expect(await parent.call('go', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  for (let tick = 0; tick < 200; tick += 1) await Promise.resolve();
  expect((await agent.messages()).map(textOf)).toEqual(['one']);
});

test('a child that returns its failure as a result, instead of throwing, causes an error result', async () => {
  const { agent } = lone([{ error: new Error('down') }]);
  const { name, sessionId } = agent;
  const kind: ChildAgent = {
    name,
    sessionId,
    messages: () => agent.messages(),
    stream: (input, options) => agent.stream(input, { ...options, throwOnError: false }),
  };
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_x', input: { message: 'go' } }] },
    'ok',
  ]);
  await new ReActAgent({ name: 'boss', model, tools: [agentTool(kind, { description: '' })] }).call(
    'go',
  );
  expect(results(model)).toEqual([
    ['error', expect.stringMatching(/x failed: .*down.*\(session_id: c\)/)],
  ]);
});

test('if a child’s answer has no text, the tool result says how the child’s run ended', async () => {
  const { parent, model } = build([{ toolCalls: [call('go')] }, 'ok'], [[{ text: '' }]]);
  await parent.call('go');
  expect(results(model)).toEqual([
    ['success', 'session_id: call_1\n\n(no text; it ended with: stop)'],
  ]);
});

/** Creates an agent named by one letter, in session `c`. */
function lone(says: readonly ScriptedReply[] = []): { readonly agent: ReActAgent } {
  return { agent: new ReActAgent({ name: 'x', sessionId: 'c', model: new ScriptedModel(says) }) };
}

test('an interrupt of the parent interrupts its child, and the child’s child', async () => {
  const inner = new ScriptedModel([{ text: 'one ', hang: true }]);
  const last = new ReActAgent({ name: 'last', model: inner });
  const between = new ScriptedModel([
    { toolCalls: [{ name: 'call_last', input: { message: 'x' } }] },
  ]);
  const child = new ReActAgent({
    name: 'helper',
    model: between,
    tools: [agentTool(last, { description: 'Helps' })],
  });
  const model = new ScriptedModel([{ toolCalls: [call('hello')] }, 'next']);
  const tools = [agentTool(child, { description: 'Helps' })];
  const parent = new ReActAgent({ name: 'boss', model, tools });
  const stream = parent.stream('go');
  for await (const event of stream)
    if (event.type === 'reasoning-chunk' && event.delta === 'one ') parent.interrupt('Enough.');
  expect(await stream.result).toMatchObject({ reason: 'interrupted', text: 'Enough.' });
  expect((await last.messages()).map(textOf)).toEqual([
    'x',
    'one ',
    'You interrupted me. What now?',
  ]);
  expect(between.requests).toHaveLength(1);
  expect((await child.messages()).at(-1)!.metadata).toMatchObject({ reason: 'interrupted' });
  expect((await parent.call('again')).text).toBe('next');
});

test("an interrupt of the parent before its child begins prevents the child's run", async () => {
  const { parent, model, made } = build([{ toolCalls: [call('a')] }, 'next'], [['one']]);
  const stop = parent.addHook({
    on: { 'acting-chunk': () => {}, 'pre-acting': () => void parent.interrupt() },
  });
  expect((await parent.call('go')).reason).toBe('interrupted');
  stop();
  expect(made).toEqual([]);
  await parent.call('again');
  expect(results(model)).toEqual([['interrupted', 'Interrupted before it ran.']]);
});

test('after an interrupt of the parent, a queued turn of the child does not begin', async () => {
  const says = new ScriptedModel(['one two', 'never']);
  const child = new ReActAgent({ name: 'helper', model: says });
  const model = new ScriptedModel([{ toolCalls: [call('a'), call('b')] }, 'next']);
  const tools = [agentTool(child, { description: 'Helps' })];
  const parent = new ReActAgent({ name: 'boss', model, tools });
  const stream = parent.stream('go');
  for await (const event of stream) if (event.type === 'reasoning-chunk') parent.interrupt();
  expect((await stream.result).reason).toBe('interrupted');
  expect(says.requests).toHaveLength(1);
  await parent.call('again');
  expect(results(model).map(([state]) => state)).toEqual(['success', 'error']);
});

test('an interrupt of the parent does not stop another caller’s run of the shared child', async () => {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const says = new ScriptedModel([[{ wait: opened, text: 'mine' }], 'yours']);
  const child = new ReActAgent({ name: 'helper', model: says, whenBusy: 'queue' });
  const mine = child.call('mine');
  await expect.poll(() => says.requests.length).toBe(1);
  const model = new ScriptedModel([{ toolCalls: [call('yours')] }, 'next']);
  const tools = [agentTool(child, { description: 'Helps' })];
  const parent = new ReActAgent({ name: 'boss', model, tools });
  const done = parent.call('go');
  await expect.poll(() => child.status.runs + Number(parent.busy)).toBe(2);
  await expect.poll(async () => (await parent.messages()).length).toBe(2);
  parent.interrupt();
  open();
  expect(await mine).toMatchObject({ reason: 'stop', text: 'mine' });
  expect((await done).reason).toBe('interrupted');
});

test('an abort of the parent aborts its child; a pause of the parent lets the child finish', async () => {
  const { parent, made } = build([{ toolCalls: [call('a')] }], [[{ text: 'one ', hang: true }]]);
  const controller = new AbortController();
  const stream = parent.stream('go', { signal: controller.signal });
  for await (const event of stream) if (event.type === 'reasoning-chunk') controller.abort();
  expect((await stream.result).reason).toBe('aborted');
  expect((await made[0]!.agent.messages()).map(textOf)).toEqual(['a', 'one ']);

  const other = build([{ toolCalls: [call('a')] }, 'done'], [['one two']]);
  const paused = other.parent.stream('go');
  for await (const event of paused)
    if (event.type === 'reasoning-chunk') other.parent.interrupt({ mode: 'pause' });
  expect(await paused.result).toMatchObject({ reason: 'suspended', pending: [] });
  expect((await other.parent.call()).text).toBe('done');
  expect(results(other.model)).toEqual([['success', 'session_id: call_1\n\none two']]);
});

test('a child without interrupt() finishes its run after an interrupt of the parent', async () => {
  const child = new ReActAgent({ name: 'helper', model: new ScriptedModel(['one two']) });
  const { name, sessionId } = child;
  const plain: ChildAgent = {
    name,
    sessionId,
    messages: () => child.messages(),
    stream: (...given) => child.stream(...given),
  };
  const model = new ScriptedModel([{ toolCalls: [call('a')] }, 'next']);
  const tools = [agentTool(plain, { description: 'Helps' })];
  const parent = new ReActAgent({ name: 'boss', model, tools });
  const stream = parent.stream('go');
  for await (const event of stream) if (event.type === 'reasoning-chunk') parent.interrupt();
  expect((await stream.result).reason).toBe('interrupted');
  expect((await child.messages()).map(textOf)).toEqual(['a', 'one two']);
});

test('parent and child count their own tokens, and readers get both at the ends of the runs', async () => {
  const { parent } = build(
    [{ toolCalls: [call('Go')] }, 'Done.'],
    [[{ text: 'I went.', usage: { inputTokens: 700, outputTokens: 30 } }]],
  );
  const used: unknown[] = [];
  for await (const event of parent.stream('Go'))
    if (event.type === 'run-end')
      used.push([event.agentPath.join('/'), event.result.usage.inputTokens]);
  expect(used).toEqual([
    ['boss/helper', 700],
    ['boss', 20],
  ]);
});

test('hooks and tools of a child see the whole path of agents, and readers of the child its own part', async () => {
  const seen = new Set<string>();
  const note = (who: string, path: readonly string[]) => void seen.add(`${who}: ${path.join('/')}`);
  const watching = (who: string) => ({
    on: {
      '*': (event: AgentEvent, run: RunView) => {
        note(`${who} hook`, event.agentPath);
        note(`${who} run`, run.agentPath);
      },
    },
  });
  const leafTool = tool({
    name: 'where',
    description: '',
    input: { type: 'object' },
    execute: (_input, { agentPath }) => {
      note('leaf tool', agentPath);
      return 'here';
    },
  });
  const agentOf = (name: string, says: readonly ScriptedReply[], tools: readonly Tool[]) =>
    new ReActAgent({ name, model: new ScriptedModel(says), tools, use: [watching(name)] });
  const asked = (name: string) => ({ toolCalls: [{ name, input: { message: 'go' } }] });
  const leaf = agentOf('leaf', [{ toolCalls: [{ name: 'where' }] }, 'Leaf.'], [leafTool]);
  const mid = agentOf('mid', [asked('call_leaf'), 'Mid.'], [agentTool(leaf, { description: '' })]);
  const boss = agentOf('boss', [asked('call_mid'), 'Boss.'], [agentTool(mid, { description: '' })]);
  const read = new Set<string>();
  for await (const { agentPath } of boss.stream('go')) read.add(agentPath.join('/'));
  expect([...read]).toEqual(['boss', 'boss/mid', 'boss/mid/leaf']);
  const paths = { boss: 'boss', mid: 'boss/mid', leaf: 'boss/mid/leaf' };
  const expected = Object.entries(paths).flatMap(([name, path]) => [
    `${name} hook: ${path}`,
    `${name} run: ${path}`,
  ]);
  expect(seen).toEqual(new Set([...expected, 'leaf tool: boss/mid/leaf']));
});

test('readers of a child itself get paths that begin with the child', async () => {
  const child = new ReActAgent({ name: 'child', model: new ScriptedModel(['Hi.']) });
  const toolContext = [provide(parentPath, ['boss'])];
  const paths = new Set<string>();
  for await (const { agentPath } of child.stream('go', { toolContext }))
    paths.add(agentPath.join('/'));
  expect([...paths]).toEqual(['child']);
});
