import { closeOpenCalls } from '../approval/close-open-calls.ts';
import { summaryFallback } from '../answer/summary-fallback.ts';
import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { userMessage, textOf, type Msg } from '../message/msg.ts';
import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { contextToken, provide } from '../tool/context-token.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { eventsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import { look, pay } from '@test/support/plain-tools.ts';
import type { Middleware } from './middleware.ts';
import type { EarlyRun } from './seam/early-run.ts';

function setUp(
  replies: readonly ScriptedReply[],
  extensions: readonly Middleware[],
  options: Partial<AgentOptions> = {},
) {
  return scriptedAgent(replies, { ...options, use: [...extensions, ...(options.use ?? [])] });
}

const rejection = new AgentError('GUARD_REJECTED', 'Not here.', { details: { stage: 'x' } });

/** Middleware that checks or changes the messages of an input. */
function checking(
  check: (messages: readonly Msg[], run: EarlyRun) => Promise<readonly Msg[]>,
): Middleware {
  return {
    wrapInput: async (input, next, run) =>
      next({ ...input, messages: await check(input.messages, run) }),
  };
}

/** Middleware that rejects an input with the message "bad". */
const noBad = checking(async (messages) => {
  if (messages.some((message) => textOf(message) === 'bad')) throw rejection;
  return messages;
});

test('guards change the input one after the other, before the input is stored or emitted', async () => {
  const seen: unknown[] = [];
  const redact = (from: string, to: string): Middleware =>
    checking(async (input, { sessionId, userId }) => {
      seen.push([textOf(input[0]!), sessionId, userId]);
      return [userMessage(textOf(input[0]!).replace(from, to))];
    });
  const { agent, model } = setUp(['ok'], [redact('1234', '#'), redact('#', '[card]')], {
    sessionId: 's',
    userId: 'u',
  });
  const events = await eventsOf(agent.stream('My card is 1234'));
  expect(seen).toEqual([
    ['My card is 1234', 's', 'u'],
    ['My card is #', 's', 'u'],
  ]);
  expect((await agent.messages()).map(textOf)).toEqual(['My card is [card]', 'ok']);
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['My card is [card]']);
  expect(JSON.stringify(events)).not.toContain('1234');
  expect(events.every(({ userId }) => userId === 'u')).toBe(true);
});

test("an input that a guard rejects ends the call with the guard's message, nothing is stored or requested, and the next call works", async () => {
  const recalled: string[] = [];
  const second: Middleware = {
    ...checking(async (input) => {
      recalled.push(`guard ${textOf(input[0]!)}`);
      return input;
    }),
    wrapSettle: (input, next) => {
      recalled.push(textOf(input.messages[0]!));
      return next(input);
    },
  };
  const { agent, model } = setUp(['fine'], [noBad, second]);
  const events = await eventsOf(agent.stream('bad'));
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'reasoning-chunk', 'run-end']);
  expect(events.at(-1)).toMatchObject({
    result: {
      reason: 'rejected',
      text: 'Not here.',
      error: { code: 'GUARD_REJECTED' },
      iterations: 0,
    },
  });
  expect(await agent.messages()).toEqual([]);
  expect(model.requests).toHaveLength(0);
  expect(await agent.call('good')).toMatchObject({ reason: 'stop', text: 'fine' });
  expect(recalled).toEqual(['guard good', 'good']);
});

test('after `next`, `wrapSettle` sees the conversation with the input at its end, and the provided context', async () => {
  const [City, Day] = [contextToken<string>('city'), contextToken<string>('day')];
  const seen: unknown[] = [];
  const looking: Middleware = {
    wrapSettle: async (input, next, run) => {
      const first = await next(input);
      const { messages: requestMessages } = run.prompt;
      const { context: toolContext } = run.tools;
      seen.push([requestMessages.map(textOf), toolContext.get(City), toolContext.get(Day)]);
      return first;
    },
  };
  const options = {
    systemPrompt: 'Be kind.',
    toolContext: [provide(City, 'Rome'), provide(Day, 'Monday')],
  };
  const { agent } = setUp(['One.', 'Two.'], [looking], options);
  await agent.call('1');
  await agent.call('2', { toolContext: [provide(City, 'Oslo')] });
  expect(seen).toEqual([
    [['Be kind.', '1'], 'Rome', 'Monday'],
    [['Be kind.', '1', 'One.', '2'], 'Oslo', 'Monday'],
  ]);
});

test('an input that a guard rejects leaves open tool calls unchanged', async () => {
  const { agent } = setUp([{ toolCalls: [{ name: 'pay' }] }, 'done'], [noBad], {
    tools: [pay],
    use: [closeOpenCalls()],
  });
  const { pending } = await agent.call('Pay');
  expect(await agent.call('bad')).toMatchObject({ reason: 'rejected' });
  expect(await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'approve' }])).toMatchObject({
    reason: 'stop',
    text: 'done',
  });
});

test('a guard that throws fails the call, and nothing is stored', async () => {
  const { agent } = setUp([], [checking(() => Promise.reject(new Error('down')))]);
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'INTERNAL',
    message: 'wrapInput() of "unnamed" failed: down',
  });
  expect(await agent.messages()).toEqual([]);
});

test('an abort while a guard checks the input aborts the call, and nothing is stored', async () => {
  const controller = new AbortController();
  const guard = checking(async (input) => (controller.abort(), input));
  const { agent, model } = setUp([], [guard]);
  expect(await agent.call('Hi', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect(await agent.messages()).toEqual([]);
  expect(model.requests).toHaveLength(0);
});

test('guards also check a call that is injected into a running call', async () => {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  const { agent, model } = setUp([[{ wait, text: 'one' }], 'two'], [noBad], { whenBusy: 'inject' });
  const calls = [agent.call('first'), agent.call('bad'), agent.call('good')];
  open();
  expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(['one', 'Not here.', 'one']);
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([['first', 'good']]);
});

test.each([{ iterations: 10 }, { iterations: 0 }])(
  'a model that fails with a rejection ends the call with the rejection’s message: limits %o',
  async (limits) => {
    const rejected = rejection;
    const model = modelOf(
      [
        [text('Wrong')],
        [
          { type: 'reset', reason: 'guard' },
          { type: 'finish', reason: 'stop', usage },
        ],
      ],
      rejected,
    );
    const agent = new ReActAgent({ name: 'a', model, limits });
    const events = await eventsOf(agent.stream('Hi'));
    expect(
      events.flatMap(({ type }) => (/chunk|reset|error|run-end/.test(type) ? type : [])),
    ).toEqual([
      limits.iterations ? 'reasoning-chunk' : 'summary-chunk',
      'step-reset',
      'reasoning-chunk',
      'run-end',
    ]);
    expect(events.at(-1)).toMatchObject({
      result: {
        reason: 'rejected',
        text: 'Not here.',
        usage,
        error: { code: 'GUARD_REJECTED', details: { stage: 'x' } },
      },
    });
    expect((await agent.messages()).map(textOf)).toEqual(['Hi']);
  },
);

test('among wrappers of models, tools and runs, the first is the outermost', async () => {
  const order: string[] = [];
  const named = (name: string): Middleware => ({
    wrapModel: (next) => ({
      ...next,
      provider: next.provider,
      modelId: next.modelId,
      features: next.features,
      stream(request, context) {
        order.push(`${name} model`);
        return next.stream(request, context);
      },
    }),
    wrapTool: async (call, next) => {
      order.push(`${name} tool ${call.tool.name}`);
      return next(call);
    },
    wrapRun: async (input, next) => {
      order.push(`${name} call`);
      const result = await next(input);
      order.push(`${name} end`);
      return { ...result, text: `${result.text} ${name}` };
    },
  });
  const { agent } = setUp(
    [{ toolCalls: [{ name: 'look' }] }, 'done'],
    [named('one'), named('two')],
    { tools: [look] },
  );
  expect(await agent.call('Look')).toMatchObject({ text: 'done two one' });
  expect(order).toEqual([
    'one call',
    'two call',
    'one model',
    'two model',
    'one tool look',
    'two tool look',
    'one model',
    'two model',
    'two end',
    'one end',
  ]);
});

const text = (delta: string): ModelDelta => ({ type: 'text', id: 't', delta });
const usage = { inputTokens: 3, outputTokens: 2 };

/** Creates a model whose reply consists of these arrays of deltas. */
function modelOf(reads: readonly (readonly ModelDelta[])[], error?: AgentError): ChatModel {
  return {
    provider: 'test',
    modelId: 'test',
    features: { tools: true, media: [] },
    async *stream() {
      yield* reads;
      if (error) throw error;
    },
  };
}

test('if the model restarts its reply, a step-reset discards the text, tool calls and media of the first attempt', async () => {
  const model = modelOf([
    [
      { type: 'thinking', id: 'k', delta: 'hm' },
      text('Wrong '),
      { type: 'tool-input', index: 0, id: 'c', name: 'gone', delta: '{}' },
      { type: 'file', mediaType: 'image/png', data: 'AA==' },
    ],
    [{ type: 'reset', reason: 'retry' }, text('Right')],
    [{ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }],
  ]);
  const agent = new ReActAgent({ name: 'a', model });
  const events = await eventsOf(agent.stream('Hi'));
  const said = events.filter(({ type }) => /chunk|reset/.test(type));
  expect(said.map((event) => event.type)).toEqual([
    'reasoning-chunk',
    'reasoning-chunk',
    'tool-input-chunk',
    'step-reset',
    'reasoning-chunk',
  ]);
  expect(said[3]).toMatchObject({ reason: 'retry' });
  expect(said[3]).not.toHaveProperty('replacement');
  const blocks = said.flatMap((event) => (event.type === 'reasoning-chunk' ? event.blockId : []));
  expect(new Set(blocks).size).toBe(3);
  const messages = await agent.messages();
  expect(messages[1]!.content).toEqual([{ type: 'text', text: 'Right' }]);
  expect(historyFaults(messages)).toEqual([]);
});

test('a partial reply that contains a reset keeps only the part after the reset', async () => {
  const controller = new AbortController();
  const model = modelOf([
    [text('Wrong')],
    [{ type: 'reset', reason: 'retry' }, text('Ri')],
    [text('ght')],
  ]);
  const agent = new ReActAgent({ name: 'a', model });
  for await (const event of agent.stream('Hi', { signal: controller.signal })) {
    if (event.type === 'reasoning-chunk' && event.delta === 'Ri') controller.abort();
  }
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'Ri']);
});

test('if the model restarts its summary, a step-reset is emitted', async () => {
  const model = modelOf([[text('Wrong')], [{ type: 'reset', reason: 'retry' }, text('In short')]]);
  const agent = new ReActAgent({ name: 'a', model, limits: { iterations: 0 } });
  const events = await eventsOf(agent.stream('Hi'));
  expect(events.flatMap(({ type }) => (/chunk|reset/.test(type) ? type : []))).toEqual([
    'summary-chunk',
    'step-reset',
    'summary-chunk',
  ]);
  expect(events.at(-1)).toMatchObject({ result: { text: 'In short', reason: 'max-iterations' } });
});

test.each(['wrapInput', 'wrapModel', 'wrapTool', 'wrapRun'])(
  'a middleware’s `%s` must be a function',
  (key) => {
    expect(() => setUp([], [{ [key]: 'no' } as Middleware])).toThrow(
      `A middleware: ${key} must be`,
    );
  },
);

const endless = Array.from({ length: 9 }, () => ({ toolCalls: [{ name: 'unknown' }] }));
const iterations = (count: number): Middleware => ({ defaults: { limits: { iterations: count } } });

test.each<[string, Partial<AgentOptions>, number]>([
  ['apply', {}, 1],
  ["override the defaults of the agent's middleware", { use: [[iterations(3)]] }, 1],
  ["do not override the agent's own options", { limits: { iterations: 3 } }, 3],
])('`defaults` in the `use` of an agent call %s', async (_what, options, count) => {
  const { agent } = setUp(endless, [], options);
  const result = await agent.call('go', { use: [iterations(1), summaryFallback()] });
  expect(result).toMatchObject({ reason: 'max-iterations', iterations: count });
});

test('`summaryFallback()` in the `use` of an agent call answers for this call only', async () => {
  const down: ScriptedReply = [{ error: new AgentError('MODEL_SERVER', 'The server is down.') }];
  const { agent } = setUp([down, down], [], { limits: { iterations: 0 } });
  const use = [summaryFallback({ text: 'Sorry.' })];
  expect(await agent.call('go', { use })).toMatchObject({ text: 'Sorry.' });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('an agent call refuses `defaults` with an option of the wrong type or that the agent lacks', async () => {
  const { agent } = setUp([], []);
  const defaults = { limits: { iterations: 'many' } } as never;
  await expect(agent.call('go', { use: [{ defaults }] })).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  await expect(agent.call('go', { use: [{ defaults: { colour: 1 } as never }] })).rejects.toThrow(
    'The middleware "unnamed" sets `colour`, which ReActAgent does not have.',
  );
});

test("`run.options` has the options of features of an agent call, not the kernel's own", async () => {
  let seen: object = {};
  const looking: Middleware = {
    wrapRun: (input, next, run) => {
      seen = run.options;
      return next(input);
    },
  };
  const { agent } = setUp(['ok'], []);
  const { signal } = new AbortController();
  await agent.call('go', { signal, temperature: 1, use: [looking], returnDirect: true });
  expect(seen).toMatchObject({ returnDirect: true });
  expect(seen).not.toHaveProperty('signal');
  expect(seen).not.toHaveProperty('temperature');
});

test('the `use` of an agent call replaces or removes a part together with its tools', async () => {
  const note = (description: string): Middleware => ({
    name: 'notes',
    tools: [tool({ name: 'note', description, input: {}, execute: () => 'Noted.' })],
  });
  const { agent, model } = scriptedAgent(['One.', 'Two.', 'Three.'], { use: [note('agent')] });
  await agent.call('Hi', { use: [note('call')] });
  await agent.call('Hi', { use: [{ name: 'notes' }] });
  await agent.call('Hi');
  const offered = model.requests.map(({ tools }) => tools.map(({ description }) => description));
  expect(offered).toEqual([['call'], [], ['agent']]);
});

test('a wrapper that ends the run leaves no tool call open, even as a rejection', async () => {
  const lookUp = tool({ name: 'look_up', description: '', input: {}, execute: () => 'found' });
  const refusing: Middleware = {
    wrapReply: async (reply, next, run) => {
      const made = await next(reply);
      if (!('to' in made)) return made;
      return { kind: 'custom', reason: 'rejected', message: run.createMessage('assistant', 'No.') };
    },
  };
  const asks = { toolCalls: [{ name: 'look_up' }] };
  const { agent } = setUp([asks, 'Hello.'], [refusing], { tools: [lookUp] });
  expect(await agent.call('go')).toMatchObject({ reason: 'rejected', text: 'No.' });
  const messages = await agent.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  expect(messages[2]!.content).toMatchObject([{ state: 'interrupted' }]);
  expect((await agent.call('Hi')).text).toBe('Hello.');
});
