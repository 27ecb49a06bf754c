import {
  AgentError,
  assistantMessage,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  toolMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentEvent,
  type AgentHook,
  type AgentOptions,
  type ModelDelta,
  type Msg,
  type ToolContext,
  type ToolOutput,
} from '@isoloop/core';
import { agentscope } from '@isoloop/core/presets';
import { loadState, saveState } from '@isoloop/core/state';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';

// Checks of what AgentScope's document says about the loop, written from the document and the
// public API alone.

type Execute = (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;

const named = (name: string, execute: Execute = () => `${name} ran`) =>
  tool({ name, description: name, input: { type: 'object' }, execute });
const asks = (...names: string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name, id: name })),
});
const finish: ModelDelta = { type: 'finish', reason: 'stop' };

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    ...options,
    use: [agentscope(), ...(options.use ?? [])],
  });
  return { agent, model };
}

/** Returns the role and the text of each message, or of the results in it. */
const shown = (messages: readonly Msg[] = []) =>
  messages.map((message) => {
    const results = toolResultsOf(message).map(({ output }) => String(output));
    return `${message.role}: ${[textOf(message), ...results].filter(Boolean).join(', ')}`;
  });

const documented = new Set<AgentEvent['type']>([
  'pre-call',
  'pre-reasoning',
  'reasoning-chunk',
  'post-reasoning',
  'pre-acting',
  'acting-chunk',
  'post-acting',
  'pre-summary',
  'summary-chunk',
  'post-summary',
  'post-call',
  'error',
]);

/** Returns a hook, and the documented events that it gets. Repeated chunks are one entry. */
function record() {
  const types: string[] = [];
  const hook: AgentHook = { onEvent: (event) => note(types, event) };
  return { types, hook };
}

function note(types: string[], { type }: AgentEvent): void {
  if (documented.has(type) && !(type.endsWith('-chunk') && types.at(-1) === type)) types.push(type);
}

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

const failureOf = async (call: Promise<unknown>): Promise<AgentError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!AgentError.is(error)) throw new Error('The call did not fail with an AgentError.');
  return error;
};

/** Calls an agent, one hook of which throws at an event, and returns what happened then. */
async function failAt(at: string) {
  let runs = 0;
  const later: string[] = [];
  const errors: string[] = [];
  const a = named('a', (_, { emit }) => {
    runs++;
    emit('half');
    return '';
  });
  const fails: AgentHook = {
    onEvent: ({ type }) => {
      if (type === at) throw new Error('坏钩子');
    },
  };
  const watches: AgentHook = {
    onEvent: (event) => {
      if (event.type === at) later.push(event.type);
      if (event.type === 'error') errors.push(event.error.code);
    },
  };
  const { agent, model } = setUp([{ text: 'Look. ', ...asks('a') }, 'Done.'], {
    tools: [a],
    use: [fails, watches],
  });

  const error = await failureOf(agent.call('Go'));
  return { error, later, errors, runs, requests: model.requests.length };
}

describe('lifecycle', () => {
  test('an answer without tools has pre-call, reasoning and post-call, in this order', async () => {
    const { types, hook } = record();
    const { agent } = setUp(['Hello there.'], { use: [hook] });

    await agent.call('Hi');

    expect(types).toEqual([
      'pre-call',
      'pre-reasoning',
      'reasoning-chunk',
      'post-reasoning',
      'post-call',
    ]);
  });

  test('a round with a tool has acting events between two reasoning rounds, for hooks and readers alike', async () => {
    const { types, hook } = record();
    const read: string[] = [];
    const slow = named('slow', (_, { emit }) => {
      emit('half');
      emit('almost');
      return 'whole';
    });
    const { agent } = setUp([{ text: 'Wait. ', ...asks('slow') }, 'Done.'], {
      tools: [slow],
      use: [hook],
    });

    for await (const event of agent.stream('Go')) note(read, event);

    const round = ['pre-reasoning', 'reasoning-chunk', 'post-reasoning'];
    const acting = ['pre-acting', 'acting-chunk', 'post-acting'];
    expect(types).toEqual(['pre-call', ...round, ...acting, ...round, 'post-call']);
    expect(read).toEqual(types);
  });

  test('hooks get the same events from call() as from stream()', async () => {
    const called = record();
    const streamed = record();
    const replies = [asks('look'), 'Done.'];
    const first = setUp(replies, { tools: [named('look')], use: [called.hook] });
    const second = setUp(replies, { tools: [named('look')], use: [streamed.hook] });

    await first.agent.call('Go');
    for await (const _ of second.agent.stream('Go'));

    expect(streamed.types).toEqual(called.types);
  });

  test('a request has the system prompt, the history and the question in this order', async () => {
    const { agent, model } = setUp(['甲', '乙'], { systemPrompt: '请简短回答。' });

    await agent.call('一');
    await agent.call('二');

    expect(shown(model.requests[1]?.messages)).toEqual([
      'system: 请简短回答。',
      'user: 一',
      'assistant: 甲',
      'user: 二',
    ]);
  });

  test('a blank system prompt is no message, and tool schemas are never in it', async () => {
    const blank = setUp(['a'], { systemPrompt: '  \n' });
    const prompted = setUp(['a'], { systemPrompt: 'Be brief.', tools: [named('look')] });

    await blank.agent.call('Hi');
    await prompted.agent.call('Hi');

    expect(shown(blank.model.requests[0]?.messages)).toEqual(['user: Hi']);
    expect(shown(prompted.model.requests[0]?.messages)[0]).toBe('system: Be brief.');
    expect(prompted.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['look']);
  });

  test('observe() only appends: it asks no model and no hook, and the next request has the message', async () => {
    const { types, hook } = record();
    const { agent, model } = setUp(['Hello Ann.'], { use: [hook] });

    await agent.observe('I am Ann.');
    const before = [...types];
    await agent.call('Who am I?');

    expect(before).toEqual([]);
    expect(shown(model.requests[0]?.messages)).toEqual(['user: I am Ann.', 'user: Who am I?']);
  });

  test("a list of messages enters the conversation in its order, before the reply with the agent's name", async () => {
    const { agent } = setUp(['Both.']);

    await agent.call([userMessage('one', { name: 'Ann' }), userMessage('two', { name: '王' })]);

    const messages = await agent.messages();
    expect(messages.map(({ name }) => name)).toEqual(['Ann', '王', 'Friday']);
    expect(shown(messages)).toEqual(['user: one', 'user: two', 'assistant: Both.']);
  });

  test('two agents with one preset run at the same time, with hooks and interrupts of their own', async () => {
    const preset = agentscope();
    const { open, opened } = gate();
    const first = record();
    const second = record();
    const agentOf = (hook: AgentHook) =>
      new ReActAgent({
        name: 'Friday',
        model: new ScriptedModel([[{ text: 'one ' }, { wait: opened, text: 'two' }]]),
        use: [preset, hook],
      });
    const one = agentOf(first.hook);
    const two = agentOf(second.hook);

    const calls = Promise.all([one.call('Go'), two.call('Go')]);
    await expect.poll(() => [...first.types, ...second.types]).toHaveLength(6);
    one.interrupt('停');
    open();

    expect((await calls).map(({ text }) => text)).toEqual(['停', 'one two']);
    expect(first.types).toEqual(['pre-call', 'pre-reasoning', 'reasoning-chunk']);
    expect(second.types.slice(-2)).toEqual(['post-reasoning', 'post-call']);
  });

  test('a failed call and a failed hook release the agent for the next call', async () => {
    let broken = true;
    const hook: AgentHook = {
      on: {
        'post-call'() {
          if (broken) throw new Error('no');
        },
      },
    };
    const { agent } = setUp([{ error: new Error('down') }, 'lost', 'Good.'], { use: [hook] });

    await failureOf(agent.call('1'));
    await failureOf(agent.call('2'));
    broken = false;

    expect(agent.busy).toBe(false);
    expect((await agent.call('3')).text).toBe('Good.');
  });

  test('a stream does nothing before its first read, and reads no further than its reader', async () => {
    const { agent, model } = setUp(['one two three four five']);
    const stream = agent.stream('Count');
    const before = { requests: model.requests.length, busy: (await agent.messages()).length };

    const events = stream[Symbol.asyncIterator]();
    let event = await events.next();
    while (event.value?.type !== 'reasoning-chunk') event = await events.next();
    const { reads } = model;
    for (let tick = 0; tick < 50; tick++) await Promise.resolve();

    expect(before).toEqual({ requests: 0, busy: 0 });
    expect(model.reads).toBe(reads);
    await events.return?.();
  });
});

describe('limit of iterations', () => {
  const looks = (count: number): ScriptedReply[] =>
    Array.from({ length: count }, () => ({ toolCalls: [{ name: 'look' }] }));
  const tools = [named('look')];

  test('tool calls of the last allowed round still run, and the summary reads their results', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'In short.'], {
      tools: [named('a'), named('b')],
      limits: { iterations: 1 },
    });

    await agent.call('Go');

    expect(shown(model.requests[1]?.messages).slice(0, -1)).toEqual([
      'user: Go',
      'assistant: ',
      'tool: a ran',
      'tool: b ran',
    ]);
  });

  test('the summary has its own events, then post-call, and each call counts its iterations anew', async () => {
    const { types, hook } = record();
    const { agent } = setUp([...looks(1), 'In short.', ...looks(1), 'Again.'], {
      tools,
      limits: { iterations: 1 },
      use: [hook],
    });

    const first = await agent.call('Go');
    const ofFirst = types.splice(0);
    const second = await agent.call('Go on');

    expect(ofFirst.slice(-4)).toEqual([
      'pre-summary',
      'summary-chunk',
      'post-summary',
      'post-call',
    ]);
    expect(types.slice(-4)).toEqual(ofFirst.slice(-4));
    expect([first.text, second.text]).toEqual(['In short.', 'Again.']);
    expect(second.iterations).toBe(1);
  });

  test('hooks change the request and the text of the summary, and post-call changes it last', async () => {
    const seen: string[] = [];
    const hook: AgentHook = {
      on: {
        'pre-summary': (event) => ({
          ...event,
          messages: [...event.messages, userMessage('In Chinese, please.')],
        }),
        'post-summary': (event) => ({
          ...event,
          message: { ...event.message, content: [{ type: 'text', text: '总结' }] },
        }),
        'post-call': (event) => {
          seen.push(textOf(event.message));
          return { ...event, message: assistantMessage('总结。', { name: 'Friday' }) };
        },
      },
    };
    const { agent, model } = setUp([...looks(1), 'In short.'], {
      tools,
      limits: { iterations: 1 },
      use: [hook],
    });

    const { text, reason } = await agent.call('Go');

    expect(shown(model.requests[1]?.messages).at(-1)).toBe('user: In Chinese, please.');
    expect(seen).toEqual(['总结']);
    expect([text, reason]).toEqual(['总结。', 'max-iterations']);
    expect(shown(await agent.messages()).at(-1)).toBe('assistant: 总结。');
  });

  test('an interrupt of the summary interrupts the call and is no summary', async () => {
    const { types, hook } = record();
    const { agent } = setUp([...looks(1), 'In short, much.'], {
      tools,
      limits: { iterations: 1 },
      use: [
        hook,
        { on: { 'summary-chunk': (_event, _control, { interrupt }) => void interrupt() } },
      ],
    });

    const { reason, text } = await agent.call('Go');

    expect(reason).toBe('interrupted');
    expect(text).not.toMatch(/Maximum iterations/u);
    expect(types).not.toContain('post-call');
  });

  test('the chunks of a streamed summary are its text, and a call that resumes counts its rounds anew', async () => {
    const { agent } = setUp(
      [
        asks('wait'),
        { toolCalls: [{ name: 'look' }] },
        { toolCalls: [{ name: 'look' }] },
        '简 而 言 之',
      ],
      {
        tools: [...tools, named('wait', (_, { suspend }) => suspend())],
        limits: { iterations: 2 },
      },
    );
    const chunks: string[] = [];

    const suspended = await agent.call('Go');
    const stream = agent.stream([{ toolUseId: 'wait', type: 'result', output: '' }]);
    for await (const event of stream) if (event.type === 'summary-chunk') chunks.push(event.delta);
    const { text, reason, iterations } = await stream.result;

    expect(suspended.iterations).toBe(1);
    expect([text, reason, iterations]).toEqual(['简 而 言 之', 'max-iterations', 2]);
    expect(chunks.join('')).toBe(text);
  });

  test('a session has the summary and not its prompt, and another agent continues after it', async () => {
    const store = new MemoryStore();
    const open = (replies: ScriptedReply[]) =>
      setUp(replies, {
        tools,
        memory: new SessionMemory(store, 's'),
        limits: { iterations: 1 },
      });

    await open([...looks(1), '总结']).agent.call('Go');
    const { agent, model } = open(['Welcome back.']);
    await agent.call('Hi');

    expect(shown(model.requests[0]?.messages)).toEqual([
      'user: Go',
      'assistant: ',
      'tool: look ran',
      'assistant: 总结',
      'user: Hi',
    ]);
  });

  test('the usage of the summary counts with the usage of all rounds', async () => {
    const usage = { inputTokens: 100, outputTokens: 7 };
    const { agent } = setUp([...looks(1), { text: 'In short.', usage }], {
      tools,
      limits: { iterations: 1 },
    });

    const result = await agent.call('Go');

    expect(result.usage).toMatchObject({ inputTokens: 110, outputTokens: 12 });
  });
});

describe('steering hooks', () => {
  test('stop after reasoning leaves the tool calls pending, and call() without input runs them', async () => {
    let stop = true;
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a', () => ran.push('a')), named('b', () => ran.push('b'))],
      use: [{ on: { 'post-reasoning': (_, control) => void (stop && control.stop()) } }],
      memory: new SessionMemory(new MemoryStore(), 's'),
    });

    const stopped = await agent.call('Go');
    const ranBefore = [...ran];
    stop = false;
    const resumed = await agent.call();

    expect([stopped.reason, stopped.stoppedAt]).toEqual(['stopped-by-hook', 'post-reasoning']);
    expect(toolUsesOf(stopped.message).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(ranBefore).toEqual([]);
    expect(ran).toEqual(['a', 'b']);
    expect([resumed.text, model.requests.length]).toEqual(['Done.', 2]);
  });

  test('a call that a hook stopped before its tools continues in another agent over the same session', async () => {
    const store = new MemoryStore();
    const ran: string[] = [];
    const open = (replies: ScriptedReply[], hooks: AgentHook[]) =>
      setUp(replies, {
        memory: new SessionMemory(store, 's'),
        sessionId: 's',
        tools: ['a', 'b'].map((name) => named(name, () => void ran.push(name))),
        limits: { parallelTools: Infinity },
        use: hooks,
      });
    const first = open([asks('a', 'b')], [{ on: { 'post-reasoning': (_, { stop }) => stop() } }]);
    const second = open(['Done.'], []);

    await first.agent.call('Go');
    const { text } = await second.agent.call();

    expect([text, ran]).toEqual(['Done.', ['a', 'b']]);
    expect(second.model.requests[0]?.messages).toHaveLength(4);
  });

  test('after a stop with pending tool calls, new input is refused until their results are given', async () => {
    let stop = true;
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      use: [{ on: { 'post-reasoning': (_, control) => void (stop && control.stop()) } }],
    });

    await agent.call('Go');
    stop = false;
    const refused = await failureOf(agent.call('Something else'));
    const answer = await agent.call(
      toolMessage({
        type: 'tool_result',
        toolUseId: 'a',
        name: 'a',
        output: '外部',
        state: 'success',
      }),
    );

    expect(refused.code).toBe('PENDING_TOOL_CALLS');
    expect(answer.text).toBe('Done.');
    expect(shown(model.requests[1]?.messages).at(-1)).toBe('tool: 外部');
  });

  test('a stop in the last allowed round is a stop, not the limit', async () => {
    const { agent, model } = setUp([asks('a')], {
      tools: [named('a')],
      limits: { iterations: 1 },
      use: [{ on: { 'post-acting': (_, control) => control.stop() } }],
    });

    const { reason, stoppedAt } = await agent.call('Go');

    expect([reason, stoppedAt]).toEqual(['stopped-by-hook', 'post-acting']);
    model.assertDone();
  });

  test('a stop at the first of two post-acting events counts, and the next call continues from there', async () => {
    let stop = true;
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a'), named('b')],
      use: [
        {
          on: {
            'post-acting': ({ toolUse }, control) =>
              void (stop && toolUse.name === 'a' && control.stop()),
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');
    stop = false;
    const { text } = await agent.call();

    expect([reason, text]).toEqual(['stopped-by-hook', 'Done.']);
    expect(toolResultsOf(model.requests[1]!.messages.at(-1)!)).toHaveLength(1);
  });

  test('a stop before reasoning asks no model, and call() without input asks it', async () => {
    let stop = true;
    const { agent, model } = setUp(['你好'], {
      use: [{ on: { 'pre-reasoning': (_, control) => void (stop && control.stop()) } }],
    });

    const stopped = await agent.call('Hi');
    const requests = model.requests.length;
    stop = false;
    const { text } = await agent.call();

    expect([stopped.reason, stopped.stoppedAt, requests]).toEqual([
      'stopped-by-hook',
      'pre-reasoning',
      0,
    ]);
    expect(text).toBe('你好');
    expect(shown(await agent.messages())).toEqual(['user: Hi', 'assistant: 你好']);
  });

  test('gotoReasoning after a tool adds its messages behind the results of all calls', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a'), named('b')],
      use: [
        {
          on: {
            'post-acting': ({ toolUse }, { gotoReasoning }) => {
              if (toolUse.name === 'a') gotoReasoning([userMessage('请继续')]);
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(shown(model.requests[1]?.messages).slice(-3)).toEqual([
      'tool: a ran',
      'tool: b ran',
      'user: 请继续',
    ]);
  });

  test.each([
    { at: 'post-reasoning', message: 'Look. ', tools: 0 },
    { at: 'post-acting', message: 'Look. ', tools: 1 },
  ] as const)(
    'after a stop at $at, post-call gets the message of the stopped round',
    async (given) => {
      const answers: string[] = [];
      let runs = 0;
      const { agent } = setUp([{ text: 'Look. ', ...asks('a') }], {
        tools: [named('a', () => ++runs)],
        use: [
          {
            on: {
              [given.at]: (_: AgentEvent, { stop }: { stop(): void }) => stop(),
              'post-call': ({ message }) => void answers.push(textOf(message)),
            },
          },
        ],
      });

      await agent.call('Go');

      expect(answers).toEqual([given.message]);
      expect(runs).toBe(given.tools);
    },
  );

  test('a suspended call ends with post-call', async () => {
    const { types, hook } = record();
    const { agent } = setUp([asks('wait'), 'Done.'], {
      tools: [named('wait', (_, { suspend }) => suspend())],
      use: [hook],
    });

    await agent.call('Go');

    expect(types).toEqual([
      'pre-call',
      'pre-reasoning',
      'post-reasoning',
      'pre-acting',
      'post-call',
    ]);
  });

  test('gotoReasoning after reasoning adds its messages and asks again, as one more iteration', async () => {
    const { agent, model } = setUp(['Maybe.', 'Yes.'], {
      use: [
        {
          on: {
            'post-reasoning': ({ message }, { gotoReasoning }) => {
              if (textOf(message) === 'Maybe.') gotoReasoning([userMessage('Yes or no?')]);
            },
          },
        },
      ],
    });

    const { text, iterations } = await agent.call('Well?');

    expect([text, iterations]).toEqual(['Yes.', 2]);
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: Well?',
      'assistant: Maybe.',
      'user: Yes or no?',
    ]);
    expect(shown(await agent.messages())).toContain('user: Yes or no?');
  });

  test('gotoReasoning at the limit leads to the summary', async () => {
    const { agent } = setUp(['Maybe.', 'In short.'], {
      limits: { iterations: 1 },
      use: [
        {
          on: {
            'post-reasoning': (_, { gotoReasoning }) => gotoReasoning([userMessage('Yes or no?')]),
          },
        },
      ],
    });

    const { text, reason } = await agent.call('Well?');

    expect([text, reason]).toEqual(['In short.', 'max-iterations']);
  });

  test('gotoReasoning with the results of a tool call skips the tool', async () => {
    let ran = 0;
    const result = toolMessage({
      type: 'tool_result',
      toolUseId: 'a',
      name: 'a',
      output: 'from the cache',
      state: 'success',
    });
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a', () => ++ran)],
      use: [
        {
          on: {
            'post-reasoning': ({ message }, { gotoReasoning }) => {
              if (toolUsesOf(message).length > 0) gotoReasoning([result]);
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(ran).toBe(0);
    expect(shown(model.requests[1]?.messages).at(-1)).toBe('tool: from the cache');
  });
});

describe('acting', () => {
  test('by default, a tool starts after the post-acting hooks of the tool before it have ended', async () => {
    const order: string[] = [];
    const noted = (name: string) =>
      named(name, async () => {
        order.push(`${name} starts`);
        await Promise.resolve();
        order.push(`${name} ends`);
      });
    const { agent } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [noted('a'), noted('b')],
      use: [
        {
          on: {
            'pre-acting': ({ toolUse }) => void order.push(`pre ${toolUse.name}`),
            'post-acting': async ({ toolUse }) => {
              for (let tick = 0; tick < 20; tick++) await Promise.resolve();
              order.push(`post ${toolUse.name}`);
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(order).toEqual([
      'pre a',
      'pre b',
      'a starts',
      'a ends',
      'post a',
      'b starts',
      'b ends',
      'post b',
    ]);
  });

  test('a slow post-acting hook that stops the call keeps the next tool from starting', async () => {
    const ran: string[] = [];
    let stops = true;
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: ['a', 'b'].map((name) => named(name, () => void ran.push(name))),
      use: [
        {
          on: {
            'post-acting': async (_event, { stop }) => {
              for (let tick = 0; tick < 20; tick++) await Promise.resolve();
              if (stops) stop();
            },
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');
    const ranBefore = [...ran];
    stops = false;
    await agent.call();

    expect([reason, ranBefore, ran]).toEqual(['stopped-by-hook', ['a'], ['a', 'b']]);
    expect(model.requests[1]?.messages).toHaveLength(4);
  });

  test('in parallel, post-acting comes as tools end, but the model reads results in the order of the calls', async () => {
    const { open, opened } = gate();
    const ended: string[] = [];
    const a = named('a', async () => {
      await opened;
      return '甲';
    });
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [a, named('b', () => '乙')],
      limits: { parallelTools: Infinity },
      use: [
        {
          on: {
            'post-acting': ({ toolUse }) => {
              ended.push(toolUse.name);
              open();
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(ended).toEqual(['b', 'a']);
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: 甲', 'tool: 乙']);
  });

  test('each result is a message of its own with the role tool', async () => {
    const { agent } = setUp([asks('a', 'b', 'c'), 'Done.'], {
      tools: ['a', 'b', 'c'].map((name) => named(name)),
      memory: new SessionMemory(new MemoryStore(), 's'),
    });

    await agent.call('Go');

    const messages = (await agent.messages()).filter(({ role }) => role === 'tool');
    expect(
      messages.map((message) => toolResultsOf(message).map(({ toolUseId }) => toolUseId)),
    ).toEqual([['a'], ['b'], ['c']]);
  });

  test('a call of an unknown tool gets an error result, and the loop continues even if no other tool was called', async () => {
    const { types, hook } = record();
    const { agent, model } = setUp([asks('飞'), asks('fly', 'look'), 'Done.'], {
      tools: [named('look')],
      use: [hook],
    });

    const { text, toolsUsed } = await agent.call('Go');

    expect(shown(model.requests[1]?.messages).at(-1)).toMatch(/^tool: Error: Tool not found: 飞/u);
    expect(shown(model.requests[2]?.messages).slice(-2)).toEqual([
      expect.stringMatching(/^tool: Error: Tool not found: fly/u),
      'tool: look ran',
    ]);
    expect([text, toolsUsed]).toEqual(['Done.', ['look']]);
    expect(types.filter((type) => type === 'post-acting')).toHaveLength(3);
  });

  test('a failed tool gives an error result that a post-acting hook can replace', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [
        named('a', () => {
          throw new Error('坏了');
        }),
        named('b'),
      ],
      use: [
        {
          on: {
            'post-acting': (event) =>
              event.result.state === 'error'
                ? {
                    ...event,
                    result: { ...event.result, output: `caught: ${String(event.result.output)}` },
                  }
                : undefined,
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');

    expect(reason).toBe('stop');
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual([
      'tool: caught: Error: 坏了',
      'tool: b ran',
    ]);
  });
});

describe('interrupts', () => {
  test('an interrupt before the first request asks no model, and the recovery text is stored as the answer', async () => {
    const { agent, model } = setUp(['Welcome back.'], {
      use: [{ on: { 'pre-call': (_event, _control, { interrupt }) => void interrupt() } }],
    });

    const { reason, text, message } = await agent.call('Go');

    expect([reason, message.role, message.name]).toEqual(['interrupted', 'assistant', 'Friday']);
    expect(text).not.toBe('');
    expect(model.requests).toHaveLength(0);
    expect(shown(await agent.messages())).toEqual(['user: Go', `assistant: ${text}`]);
  });

  test('an interrupt in the arguments of a tool call drops the call, and keeps the text before it', async () => {
    let ran = 0;
    const deltas: ModelDelta[][] = [
      [{ type: 'text', id: 't', delta: 'I look.' }],
      [{ type: 'tool-input', index: 0, id: 'a', name: 'a', delta: '{"city":' }],
      [{ type: 'tool-input', index: 0, delta: '"Rome"}' }],
      [finish],
    ];
    const { agent } = setUp([{ deltas }, 'Hello.'], {
      tools: [named('a', () => ++ran)],
      use: [{ on: { 'tool-input-chunk': (_event, _control, { interrupt }) => void interrupt() } }],
    });

    const { reason } = await agent.call('Go');
    const [, partial] = await agent.messages();

    expect([reason, ran]).toEqual(['interrupted', 0]);
    expect(partial?.content).toEqual([{ type: 'text', text: 'I look.' }]);
    expect((await agent.call('Hi')).text).toBe('Hello.');
  });

  test('an interrupt after reasoning starts no tool, and each call has a result before the recovery text', async () => {
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b'), 'Hello.'], {
      tools: [named('a', () => ran.push('a')), named('b', () => ran.push('b'))],
      use: [
        {
          on: {
            'post-reasoning': ({ iteration }, _control, { interrupt }) =>
              void (iteration === 1 && interrupt()),
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');
    const states = (await agent.messages()).flatMap((message) =>
      toolResultsOf(message).map(({ toolUseId, state }) => `${toolUseId} ${state}`),
    );

    expect([reason, ran]).toEqual(['interrupted', []]);
    expect(states).toEqual(['a interrupted', 'b interrupted']);
    expect(model.requests).toHaveLength(1);
  });

  test('an interrupt during a tool lets it finish and store its result; the next tool does not start', async () => {
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b')], {
      tools: [
        named('a', async () => {
          agent.interrupt();
          await Promise.resolve();
          return 'finished';
        }),
        named('b', () => ran.push('b')),
      ],
    });

    const { reason } = await agent.call('Go');
    const results = (await agent.messages()).flatMap((message) => toolResultsOf(message));

    expect(reason).toBe('interrupted');
    expect(results.map(({ state }) => state)).toEqual(['success', 'interrupted']);
    expect([results[0]?.output, ran]).toEqual(['finished', []]);
    model.assertDone();
  });

  test('an interrupt during parallel tools lets all of them finish, and their post-acting hooks run', async () => {
    const { types, hook } = record();
    const { open, opened } = gate();
    const { agent } = setUp([asks('a', 'b')], {
      tools: [
        named('a', async () => {
          await opened;
          return 'a finished';
        }),
        named('b', (_, { interrupt }) => {
          interrupt();
          open();
          return 'b finished';
        }),
      ],
      limits: { parallelTools: Infinity },
      use: [hook],
    });

    const { reason } = await agent.call('Go');

    expect(reason).toBe('interrupted');
    expect(shown(await agent.messages()).slice(2, 4)).toEqual([
      'tool: a finished',
      'tool: b finished',
    ]);
    expect(types.filter((type) => type === 'post-acting')).toHaveLength(2);
    expect(types).not.toContain('post-call');
    expect(types).not.toContain('error');
  });

  test('an interrupt counts before a gotoReasoning of the same event, and its messages are not lost', async () => {
    const { agent, model } = setUp(['Maybe.', 'Yes.'], {
      use: [
        {
          on: {
            'post-reasoning': ({ iteration }, { gotoReasoning }, { interrupt }) => {
              if (iteration > 1) return;
              gotoReasoning([userMessage('是或否?')]);
              interrupt('好');
            },
          },
        },
      ],
    });

    const { reason, text } = await agent.call('Well?');
    await agent.call('Hi');

    expect([reason, text]).toEqual(['interrupted', '好']);
    expect(model.requests).toHaveLength(2);
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: Well?',
      'assistant: Maybe.',
      'user: 是或否?',
      'assistant: 好',
      'user: Hi',
    ]);
  });

  test('an interrupt from a post-acting hook closes the calls that have not started', async () => {
    const ran: string[] = [];
    const { agent } = setUp([asks('a', 'b', 'c')], {
      tools: ['a', 'b', 'c'].map((name) => named(name, () => void ran.push(name))),
      use: [{ on: { 'post-acting': (_event, _control, { interrupt }) => void interrupt() } }],
    });

    const { reason } = await agent.call('Go');

    const states = (await agent.messages()).flatMap((message) =>
      toolResultsOf(message).map(({ state }) => state),
    );
    expect(reason).toBe('interrupted');
    expect(states).toEqual(
      ['a', 'b', 'c'].map((name) => (ran.includes(name) ? 'success' : 'interrupted')),
    );
    expect(ran).not.toContain('c');
  });

  test('interrupt(message) makes the message the answer, with the role assistant, and stores it', async () => {
    const { agent, model } = setUp([asks('a'), 'Hello.'], {
      tools: [
        named('a', () => {
          agent.interrupt(userMessage('操作已取消'));
          return '';
        }),
      ],
    });

    const { text, message, reason } = await agent.call('Go');
    await agent.call('Hi');

    expect([text, message.role, reason]).toEqual(['操作已取消', 'assistant', 'interrupted']);
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual([
      'assistant: 操作已取消',
      'user: Hi',
    ]);
  });

  test('an interrupted call continues without input: without the partial reply and the recovery text', async () => {
    const store = new MemoryStore();
    const open = (replies: ScriptedReply[], hooks: AgentHook[] = []) =>
      setUp(replies, { memory: new SessionMemory(store, 's'), sessionId: 's', use: hooks });
    const first = open(
      ['Once upon a time'],
      [{ on: { 'reasoning-chunk': (_event, _control, { interrupt }) => void interrupt() } }],
    );
    const second = open(['Once upon a time, the end.']);

    await first.agent.call('Tell');
    const { text } = await second.agent.call();

    expect(text).toBe('Once upon a time, the end.');
    expect(shown(second.model.requests[0]?.messages)).toEqual(['user: Tell']);
    expect(shown(await second.agent.messages())).toEqual(['user: Tell', `assistant: ${text}`]);
  });

  test('a call that was interrupted in a tool continues in another agent, and the tool does not run again', async () => {
    const store = new MemoryStore();
    let runs = 0;
    const open = (replies: ScriptedReply[]) =>
      setUp(replies, {
        memory: new SessionMemory(store, 's'),
        sessionId: 's',
        tools: [
          named('pay', (_, { interrupt }) => {
            interrupt('停');
            return `paid ${String(++runs)}`;
          }),
        ],
      });

    const first = await open([asks('pay')]).agent.call('Pay');
    const { agent, model } = open(['Done.']);
    const second = await agent.call();

    expect([first.text, second.text, runs]).toEqual(['停', 'Done.', 1]);
    expect(shown(model.requests[0]?.messages)).toEqual([
      'user: Pay',
      'assistant: ',
      'tool: paid 1',
    ]);
  });

  test('interrupt(message) keeps the blocks of the message, and the first of two messages counts', async () => {
    const image = {
      type: 'image',
      source: { type: 'url', url: 'https://example.com/停.png' },
    } as const;
    const { agent } = setUp(['one two three']);

    const stream = agent.stream('Go');
    for await (const { type } of stream) {
      if (type !== 'reasoning-chunk') continue;
      agent.interrupt(userMessage([{ type: 'text', text: '停止' }, image]));
      agent.interrupt('too late');
    }
    const { message } = await stream.result;

    expect(message).toMatchObject({ role: 'assistant', content: [{ text: '停止' }, image] });
    expect((await agent.messages()).at(-1)).toEqual(message);
  });

  test('the saved state has the interrupt flag, and a call after loading it is not interrupted', async () => {
    const first = setUp(['a b c'], {
      use: [{ on: { 'reasoning-chunk': (_event, _control, { interrupt }) => void interrupt() } }],
    });
    const second = setUp(['Hello.']);

    await first.agent.call('Go');
    const state = await saveState(first.agent);
    await loadState(second.agent, JSON.parse(JSON.stringify(state)));
    const { reason } = await second.agent.call('Hi');

    expect([state.interrupted, reason]).toEqual([true, 'stop']);
    expect((await saveState(second.agent)).interrupted).toBe(false);
  });
});

describe('hooks', () => {
  test('lower priorities run first, 100 is the default, and equal priorities keep their order', async () => {
    const order: string[] = [];
    const hook = (name: string, priority?: number): AgentHook => ({
      on: {
        'pre-reasoning': {
          handle: async () => {
            await Promise.resolve();
            order.push(name);
          },
          ...(priority === undefined ? {} : { priority }),
        },
      },
    });
    const everything: AgentHook = {
      onEvent: ({ type }) => void (type === 'pre-reasoning' && order.push('every event')),
    };
    const { agent } = setUp(['a'], {
      use: [
        hook('101', 101),
        hook('first'),
        everything,
        hook('10', 10),
        hook('100', 100),
        hook('-1', -1),
      ],
    });

    await agent.call('Hi');

    expect(order).toEqual(['-1', '10', 'first', 'every event', '100', '101']);
  });

  test('the next hook gets the messages of the hook before, and only this request has them', async () => {
    const seen: number[] = [];
    const adds = (text: string): AgentHook => ({
      on: {
        'pre-reasoning': (event) => {
          seen.push(event.messages.length);
          if (event.iteration === 1)
            return { ...event, messages: [...event.messages, userMessage(text)] };
          return undefined;
        },
      },
    });
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      use: [adds('甲'), adds('乙')],
    });

    await agent.call('Go');

    expect(seen).toEqual([1, 2, 3, 3]);
    expect(shown(model.requests[0]?.messages)).toEqual(['user: Go', 'user: 甲', 'user: 乙']);
    expect(shown(await agent.messages())).not.toContain('user: 甲');
  });

  test('a pre-reasoning hook sets the options of one request', async () => {
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      generate: { temperature: 0.2, maxTokens: 100 },
      use: [
        {
          on: {
            'pre-reasoning': (event) =>
              event.iteration === 1
                ? {
                    ...event,
                    options: { ...event.options, temperature: 0.9, toolChoice: 'required' },
                  }
                : undefined,
          },
        },
      ],
    });

    await agent.call('Go');

    expect(model.requests).toMatchObject([
      { temperature: 0.9, maxTokens: 100, toolChoice: 'required' },
      { temperature: 0.2, maxTokens: 100 },
    ]);
    expect(model.requests[1]?.toolChoice).toBeUndefined();
  });

  test('pre-call only notifies: a hook cannot change the input', async () => {
    const { agent, model } = setUp(['a'], {
      use: [{ on: { 'pre-call': (event) => ({ ...event, input: [userMessage('changed')] }) } }],
    });

    await agent.call('Hi').catch(() => undefined);

    expect(shown(model.requests[0]?.messages ?? [userMessage('Hi')])).toEqual(['user: Hi']);
    expect(shown(await agent.messages())).not.toContain('user: changed');
  });

  test('a reply that a hook gives a tool call is acted on, and one that loses its call is the answer', async () => {
    const ran: unknown[] = [];
    const hook: AgentHook = {
      on: {
        'post-reasoning': (event) => {
          const content =
            event.iteration === 1
              ? ([{ type: 'tool_use', id: 'x', name: 'a', input: { city: '罗马' } }] as const)
              : ([{ type: 'text', text: 'Enough.' }] as const);
          return { ...event, message: { ...event.message, content } };
        },
      },
    };
    const { agent, model } = setUp(['No need.', asks('a')], {
      tools: [named('a', (input) => ran.push(input))],
      use: [hook],
    });

    const { text, reason } = await agent.call('Go');

    expect([text, reason]).toEqual(['Enough.', 'stop']);
    expect(ran).toEqual([{ city: '罗马' }]);
    expect(toolUsesOf(model.requests[1]!.messages[1]!)).toMatchObject([{ id: 'x' }]);
  });

  test('a reply that loses one of its two calls runs and stores only the other', async () => {
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a', () => ran.push('a')), named('b', () => ran.push('b'))],
      use: [
        {
          on: {
            'post-reasoning': (event) => ({
              ...event,
              message: {
                ...event.message,
                content: event.message.content.filter(
                  (block) => block.type !== 'tool_use' || block.name !== 'a',
                ),
              },
            }),
          },
        },
      ],
    });

    await agent.call('Go');

    expect(ran).toEqual(['b']);
    expect(toolUsesOf(model.requests[1]!.messages[1]!).map(({ id }) => id)).toEqual(['b']);
    expect(model.requests[1]?.messages).toHaveLength(3);
  });

  test('a pre-acting hook changes the arguments for the tool and for later hooks', async () => {
    const seen: unknown[] = [];
    const { agent } = setUp(
      [{ toolCalls: [{ name: 'a', id: 'a', input: { city: 'Rome' } }] }, 'Done.'],
      {
        tools: [named('a', (input) => void seen.push(input))],
        use: [
          {
            on: {
              'pre-acting': (event) => ({
                ...event,
                toolUse: { ...event.toolUse, input: { city: '北京' } },
              }),
              'post-acting': ({ toolUse }) => void seen.push(toolUse.input),
            },
          },
          { on: { 'pre-acting': ({ toolUse }) => void seen.push(toolUse.input) } },
        ],
      },
    );

    await agent.call('Go');

    expect(seen).toEqual([{ city: '北京' }, { city: '北京' }, { city: '北京' }]);
  });

  test('a pre-acting hook can repair the call of an unknown tool; the result keeps the id of the call', async () => {
    const problems: unknown[] = [];
    const { agent, model } = setUp([asks('serch'), 'Done.'], {
      tools: [named('search')],
      use: [
        {
          on: {
            'pre-acting': (event) => {
              problems.push(event.problem);
              return { ...event, toolUse: { ...event.toolUse, name: 'search' } };
            },
          },
        },
        { on: { 'pre-acting': ({ problem }) => void problems.push(problem) } },
      ],
    });

    await agent.call('Go');

    expect(problems).toEqual([expect.stringContaining('serch'), undefined]);
    expect(toolResultsOf(model.requests[1]!.messages.at(-1)!)).toMatchObject([
      { toolUseId: 'serch', output: 'search ran', state: 'success' },
    ]);
  });

  test('a post-call hook changes the answer, which the memory, the result and the last event have', async () => {
    const { agent, model } = setUp(['秘密 is 123', 'Next.'], {
      use: [
        {
          on: {
            'post-call': (event) =>
              textOf(event.message).includes('123')
                ? {
                    ...event,
                    message: { ...event.message, content: [{ type: 'text', text: '秘密 is …' }] },
                  }
                : undefined,
          },
        },
      ],
    });
    const ends: string[] = [];

    const stream = agent.stream('Say');
    for await (const event of stream) if (event.type === 'run-end') ends.push(event.result.text);
    await agent.call('Next');

    expect((await stream.result).text).toBe('秘密 is …');
    expect(ends).toEqual(['秘密 is …']);
    expect(shown(model.requests[1]?.messages)[1]).toBe('assistant: 秘密 is …');
  });

  test('every hook gets chunks and errors, and what it returns for them is ignored', async () => {
    const seen: string[] = [];
    const liar: AgentHook = {
      onEvent: (event) =>
        event.type === 'reasoning-chunk' ? { ...event, delta: 'lie' } : undefined,
    };
    const witness: AgentHook = {
      on: {
        'reasoning-chunk': ({ delta }) => void seen.push(delta.trim()),
        error: ({ error }) => void seen.push(error.message),
      },
    };
    const { agent } = setUp([{ text: 'one two', error: new Error('断线') }], {
      use: [witness, liar, witness],
    });

    const error = await failureOf(agent.call('Hi'));

    expect(error.message).toBe('断线');
    expect(seen).toEqual(['one', 'one', 'two', 'two', '断线', '断线']);
  });

  test.each([
    { at: 'pre-reasoning', requests: 0, runs: 0 },
    { at: 'post-reasoning', requests: 1, runs: 0 },
    { at: 'pre-acting', requests: 1, runs: 0 },
    { at: 'post-call', requests: 2, runs: 1 },
  ])(
    'a hook that throws at $at fails the call, and later hooks do not get the event',
    async (given) => {
      const { error, later, errors, requests, runs } = await failAt(given.at);

      expect([error.code, errors]).toEqual(['HOOK_ERROR', ['HOOK_ERROR']]);
      expect([requests, runs]).toEqual([given.requests, given.runs]);
      expect(later).toEqual([]);
    },
  );

  test.each([
    { at: 'pre-call', requests: 0, runs: 0 },
    { at: 'reasoning-chunk', requests: 1, runs: 0 },
    { at: 'acting-chunk', requests: 1, runs: 1 },
  ])(
    'a hook that throws at $at fails the call, although every hook gets the notification',
    async (given) => {
      const { error, later, errors, requests, runs } = await failAt(given.at);

      expect([error.code, errors]).toEqual(['HOOK_ERROR', ['HOOK_ERROR']]);
      expect([requests, runs]).toEqual([given.requests, given.runs]);
      expect(later).toEqual([given.at]);
    },
  );

  test('a hook that throws at post-acting fails the call; later hooks and the model get an error as the result', async () => {
    const seen: unknown[] = [];
    let broken = true;
    const { agent, model } = setUp([asks('a'), 'Fine.'], {
      tools: [named('a', () => '秘密')],
      use: [
        {
          on: {
            'post-acting'() {
              if (broken) throw new Error('坏钩子');
            },
          },
        },
        { on: { 'post-acting': ({ result }) => void seen.push(result.state) } },
      ],
    });

    const { code } = await failureOf(agent.call('Go'));
    broken = false;
    const { text } = await agent.call('And now?');

    expect([code, text, seen]).toEqual(['HOOK_ERROR', 'Fine.', ['error']]);
    expect(JSON.stringify(model.requests[1]?.messages)).not.toMatch(/秘密|坏钩子/u);
  });

  test('a hook that throws at the error event does not replace the error, and the other hooks get it', async () => {
    const seen: string[] = [];
    const { agent } = setUp([{ error: new AgentError('MODEL_SERVER', '过载') }], {
      use: [
        {
          on: {
            error() {
              throw new Error('坏钩子');
            },
          },
        },
        { on: { error: ({ error }) => void seen.push(error.code) } },
      ],
    });

    const error = await failureOf(agent.call('Go'));

    expect([error.code, error.message, seen]).toEqual(['MODEL_SERVER', '过载', ['MODEL_SERVER']]);
  });

  test('a hook from addHook() takes its place among the hooks of the agent by its priority', async () => {
    const order: string[] = [];
    const at = (name: string, priority: number): AgentHook => ({
      on: { 'post-call': { priority, handle: () => void order.push(name) } },
    });
    const { agent } = setUp(['a'], { use: [at('10', 10), at('100', 100)] });
    agent.addHook(at('50', 50));
    agent.addHook(at('5', 5));
    agent.addHook(at('100, later', 100));

    await agent.call('Hi');

    expect(order).toEqual(['5', '10', '50', '100', '100, later']);
  });

  test('a hook added in a run gets events from the next one on, until it is removed', async () => {
    const seen: string[] = [];
    const { agent } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      use: [
        {
          on: {
            'pre-reasoning': ({ iteration }) => {
              if (iteration > 1) return;
              const remove = agent.addHook({
                onEvent: ({ type }) => {
                  if (documented.has(type)) seen.push(type);
                  if (type === 'post-acting') remove();
                },
              });
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(seen).toEqual(['post-reasoning', 'pre-acting', 'post-acting']);
  });
});

describe('streaming', () => {
  test('chunks are increments, and together they are the message, for text, thinking and arguments', async () => {
    const { agent } = setUp(
      [
        {
          thinking: '先 想 一想',
          text: 'I look it up.',
          toolCalls: [{ name: 'a', id: 'a', input: { 城市: '罗马' } }],
        },
        'Done.',
      ],
      { tools: [named('a')] },
    );
    const parts = { text: '', thinking: '', input: '' };
    let message: Msg | undefined;

    for await (const event of agent.stream('Go')) {
      if (event.iteration > 1) continue;
      if (event.type === 'reasoning-chunk') parts[event.kind] += event.delta;
      if (event.type === 'tool-input-chunk') parts.input += event.delta;
      if (event.type === 'post-reasoning') message = event.message;
    }

    expect(message?.content).toMatchObject([
      { type: 'thinking', thinking: parts.thinking },
      { type: 'text', text: parts.text },
      { type: 'tool_use', input: JSON.parse(parts.input) },
    ]);
    expect(parts).toEqual({
      thinking: '先 想 一想',
      text: 'I look it up.',
      input: '{"城市":"罗马"}',
    });
  });

  test('the next chunk of a model is read only after the hooks of a chunk have ended', async () => {
    const { open, opened } = gate();
    const deltas: ModelDelta[][] = [
      [{ type: 'text', id: 't', delta: '一' }],
      [{ type: 'text', id: 't', delta: '二' }],
      [finish],
    ];
    const seen: string[] = [];
    const { agent, model } = setUp([{ deltas }], {
      use: [
        {
          on: {
            'reasoning-chunk': async ({ delta }) => {
              seen.push(delta);
              await opened;
            },
          },
        },
      ],
    });

    const call = agent.call('Count');
    await expect.poll(() => seen).toEqual(['一']);
    const { reads } = model;
    open();

    expect((await call).text).toBe('一二');
    expect(reads).toBe(1);
    expect(seen).toEqual(['一', '二']);
  });

  test('a stream that nobody has read leaves the agent free, and still runs after another call', async () => {
    const { agent, model } = setUp(['first', 'second']);

    const stream = agent.stream('later');
    const { text } = await agent.call('now');
    const streamed = await stream.result;

    expect([text, streamed.text]).toEqual(['first', 'second']);
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: now',
      'assistant: first',
      'user: later',
    ]);
  });

  test('a reader that leaves while a tool runs aborts the call, and the next call has a valid history', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'Hello.'], {
      tools: [
        named('a', async (_, { emit, signal }) => {
          emit('started');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          return 'too late';
        }),
        named('b'),
      ],
    });

    const stream = agent.stream('Go');
    for await (const { type } of stream) if (type === 'acting-chunk') break;
    const { reason } = await stream.result;
    await agent.call('Hi');

    const states = model.requests[1]!.messages.flatMap((message) =>
      toolResultsOf(message).map(({ toolUseId, state }) => `${toolUseId} ${state}`),
    );
    expect(reason).toBe('aborted');
    expect(states).toEqual(['a interrupted', 'b interrupted']);
  });

  test('fragments of two tool calls join by their index, even inside a character escape', async () => {
    const seen: unknown[] = [];
    const deltas: ModelDelta[][] = [
      [{ type: 'tool-input', index: 0, id: 'a', name: 'a', delta: '{"x":"\\u4' }],
      [{ type: 'tool-input', index: 1, id: 'b', name: 'b', delta: '{"y":' }],
      [{ type: 'tool-input', index: 0, delta: 'e2d"}' }],
      [{ type: 'tool-input', index: 1, delta: '[1,2]}' }],
      [finish],
    ];
    const { agent } = setUp([{ deltas }, 'Done.'], {
      tools: ['a', 'b'].map((name) => named(name, (input) => void seen.push(input))),
    });

    await agent.call('Go');

    expect(seen).toEqual([{ x: '中' }, { y: [1, 2] }]);
  });

  test('a reply whose arguments are empty calls the tool without arguments', async () => {
    const seen: unknown[] = [];
    const deltas: ModelDelta[][] = [
      [{ type: 'tool-input', index: 0, id: 'a', name: 'a', delta: '' }],
      [finish],
    ];
    const { agent } = setUp([{ deltas }, 'Done.'], {
      tools: [named('a', (input) => void seen.push(input))],
    });

    await agent.call('Go');

    expect(seen).toEqual([{}]);
  });

  test('the last event has the result, and no event repeats the text of the chunks as a chunk', async () => {
    const { agent } = setUp(['一 二 三']);
    const chunks: string[] = [];
    let last: AgentEvent | undefined;

    const stream = agent.stream('Count');
    for await (const event of stream) {
      if (event.type === 'reasoning-chunk') chunks.push(event.delta);
      last = event;
    }

    expect(chunks.join('')).toBe('一 二 三');
    expect(last).toMatchObject({ type: 'run-end', result: { text: '一 二 三', reason: 'stop' } });
    expect((await stream.result).text).toBe('一 二 三');
  });

  test('a model that fails in the middle of a reply fails call and stream with the same error, and stores no reply', async () => {
    const reply = { text: 'Half ', error: new AgentError('MODEL_SERVER', '过载') };
    const called = setUp([reply, 'Whole.']);
    const streamed = setUp([reply]);

    const first = await failureOf(called.agent.call('Go'));
    const second = await failureOf(streamed.agent.stream('Go').result);

    expect([first.code, first.message]).toEqual(['MODEL_SERVER', '过载']);
    expect(second.toJSON()).toEqual(first.toJSON());
    expect(shown(await streamed.agent.messages())).toEqual(['user: Go']);
    expect((await called.agent.call()).text).toBe('Whole.');
  });
});
