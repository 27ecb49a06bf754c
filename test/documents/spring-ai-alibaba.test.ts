// What the document of Spring AI Alibaba's ReactAgent describes, through the public API alone.
import {
  agentTool,
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  outputText,
  ReActAgent,
  SessionMemory,
  systemMessage,
  textOf,
  tool,
  toolMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentOptions,
  type Decision,
  type Middleware,
  type ModelRequest,
  type Msg,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type ToolResult,
} from '@isoloop/core';
import { clearToolResults, summarization } from '@isoloop/core/context';
import { piiGuard } from '@isoloop/core/guards';
import {
  fallback,
  humanInTheLoop,
  modelCallLimit,
  patchToolCalls,
  positionHooks,
  retry,
  toolCallLimit,
  toolRetry,
  withStream,
  type PositionHook,
} from '@isoloop/core/middleware';
import { structured } from '@isoloop/core/output';
import { springAiAlibaba } from '@isoloop/core/presets';
import {
  append,
  listCheckpoints,
  loadState,
  merge,
  replace,
  returnToCheckpoint,
  saveState,
  stateKeys,
} from '@isoloop/core/state';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';

const anyInput = { type: 'object' } as const;

interface SetUp extends Partial<Omit<AgentOptions, 'model'>> {
  readonly preset?: Parameters<typeof springAiAlibaba>[0];
}

/** Returns an agent with the preset, and its model. */
function alibaba(replies: readonly ScriptedReply[], { preset, use = [], ...options }: SetUp = {}) {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    ...options,
    use: [springAiAlibaba(preset), ...use],
  });
  return { model, agent };
}

/** Returns a tool that records each of its runs in `log` and answers `<name> done`. */
function noting(
  log: string[],
  name: string,
  {
    run,
    ...options
  }: Partial<Pick<Tool, 'returnDirect' | 'replay'>> & {
    readonly run?: (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;
  } = {},
): Tool {
  return tool({
    name,
    description: name,
    input: anyInput,
    ...options,
    execute: (input, context) => {
      log.push(name);
      return run === undefined ? `${name} done` : run(input, context);
    },
  });
}

/** Returns a reply that calls each of the tools once. The id of a call is `<name>-id`. */
const calls = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name, id: `${name}-id` })),
});

/** Creates a hook that records its four positions. */
const notingHook = (
  log: string[],
  name: string,
  more: Partial<PositionHook> = {},
): PositionHook => ({
  name,
  beforeAgent: () => void log.push(`${name}.beforeAgent`),
  beforeModel: () => void log.push(`${name}.beforeModel`),
  afterModel: () => void log.push(`${name}.afterModel`),
  afterAgent: () => void log.push(`${name}.afterAgent`),
  ...more,
});

/** Creates a model interceptor that records when a request enters and when its reply leaves. */
const notingModel = (log: string[], name: string): Middleware => ({
  wrapModel: (next) =>
    withStream(next, async function* (request, context) {
      log.push(`${name} in`);
      yield* next.stream(request, context);
      log.push(`${name} out`);
    }),
});

/** Creates a tool interceptor that records when a call enters and when its result leaves. */
const notingTool = (log: string[], name: string): Middleware => ({
  wrapTool: (next) => async (call, context) => {
    log.push(`${name} in ${call.tool.name}`);
    const outcome = await next(call, context);
    log.push(`${name} out ${call.tool.name}`);
    return outcome;
  },
});

const lineOf = (message: Msg): string =>
  [
    `${message.role}:`,
    textOf(message),
    ...toolUsesOf(message).map(({ name, input }) => `${name}(${JSON.stringify(input)})`),
    ...toolResultsOf(message).map(({ name, output }) => `${name}=${outputText(output)}`),
  ]
    .filter((part) => part !== '')
    .join(' ');

const lines = (messages: readonly Msg[]): readonly string[] => messages.map(lineOf);
const sent = (request: ModelRequest | undefined): readonly string[] =>
  lines(request?.messages ?? []);
const resultsIn = (messages: readonly Msg[]): readonly ToolResult[] =>
  messages.flatMap(toolResultsOf);

const toolUse = (name: string) =>
  ({ type: 'tool_use', id: `${name}-id`, name, input: {} }) as const;
const result = (name: string) =>
  ({
    type: 'tool_result',
    toolUseId: `${name}-id`,
    name,
    output: `${name} done`,
    state: 'success',
  }) as const;

describe('the agent call', () => {
  test('a text, a message and a list with one message make the same request', async () => {
    const inputs = ['你好', userMessage('你好'), [userMessage('你好')]];
    for (const input of inputs) {
      const { model, agent } = alibaba(['好'], { systemPrompt: '简短回答。' });

      await agent.call(input);

      expect(sent(model.requests[0])).toEqual(['system: 简短回答。', 'user: 你好']);
    }
  });

  test('the answer is the last assistant message, not the text beside a tool call', async () => {
    const { agent } = alibaba([{ text: '我先看看。', ...calls('look') }, '答案'], {
      tools: [noting([], 'look')],
    });

    const { text, message, reason } = await agent.call('看');

    expect({ text, reason }).toEqual({ text: '答案', reason: 'stop' });
    expect(message.id).toBe((await agent.messages()).at(-1)?.id);
  });

  test('a call and a stream leave the same log and the same result', async () => {
    const replies = [{ text: '先', ...calls('look') }, '后'];
    const [called, streamed] = [0, 1].map(() => alibaba(replies, { tools: [noting([], 'look')] }));

    const byCall = await called!.agent.call('看');
    const stream = streamed!.agent.stream('看');
    for await (const _ of stream);
    const byStream = await stream.result;

    expect(byStream.text).toBe(byCall.text);
    expect(byStream.toolsUsed).toEqual(byCall.toolsUsed);
    expect(lines(await streamed!.agent.messages())).toEqual(lines(await called!.agent.messages()));
  });

  test('the loop has no limit of its own: the fiftieth reply may still call a tool', async () => {
    const log: string[] = [];
    const rounds = Array.from({ length: 50 }, () => ({ toolCalls: [{ name: 'look' }] }));
    const { model, agent } = alibaba([...rounds, 'end'], { tools: [noting(log, 'look')] });

    const { reason, iterations } = await agent.call('go');

    expect({ reason, iterations, ran: log.length }).toEqual({
      reason: 'stop',
      iterations: 51,
      ran: 50,
    });
    model.assertDone();
  });

  test('a limit of the agent replaces the unlimited recursion of the preset, to the exact round', async () => {
    const round = () => ({ toolCalls: [{ name: 'look' }] });
    const options = { tools: [noting([], 'look')], limits: { iterations: 3 } };

    const fits = await alibaba([round, round, 'third'], options).agent.call('go');
    const exceeds = await alibaba([round, round, round, 'sum'], options).agent.call('go');

    expect([fits.reason, fits.text]).toEqual(['stop', 'third']);
    expect([exceeds.reason, exceeds.text]).toEqual(['max-iterations', 'sum']);
  });

  test('input that ends with complete tool results goes to the model and runs no tool', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], { tools: [noting(log, 'look')] });

    await agent.call([
      userMessage('q'),
      assistantMessage([toolUse('look')]),
      toolMessage(result('look')),
    ]);

    expect(log).toEqual([]);
    expect(sent(model.requests[0])).toEqual([
      'user: q',
      'assistant: look({})',
      'tool: look=look done',
    ]);
  });

  test('after some of the tool results, only the missing tool calls run, and the order stays', async () => {
    const log: string[] = [];
    const memory = new InMemoryMemory(
      [
        userMessage('q'),
        assistantMessage(['a', 'b', 'c'].map(toolUse)),
        toolMessage({ ...result('b'), output: 'b earlier' }),
      ],
      { openCalls: 'run' },
    );
    const { model, agent } = alibaba(['ok'], {
      memory,
      tools: ['a', 'b', 'c'].map((name) => noting(log, name)),
    });

    await agent.call();

    expect(log).toEqual(['a', 'c']);
    const results = resultsIn(model.requests[0]!.messages).map(({ output }) => output);
    expect(results).toEqual(['a done', 'b earlier', 'c done']);
  });

  test('an empty reply without tool calls ends the loop', async () => {
    const log: string[] = [];
    const { agent } = alibaba([{}], { preset: { hooks: [notingHook(log, 'h')] } });

    const { reason, text } = await agent.call('q');

    expect({ reason, text }).toEqual({ reason: 'stop', text: '' });
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'h.afterAgent']);
  });

  test('a failed second request rejects, keeps the tool results, and the next call asks again', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), { error: new Error('坏了') }, 'fine'], {
      tools: [noting(log, 'look')],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const failed = await agent.call('q', { throwOnError: false });
    const again = await agent.call();

    expect([failed.reason, failed.error?.message]).toEqual(['error', '坏了']);
    expect(again.text).toBe('fine');
    expect(sent(model.requests[2])).toEqual(sent(model.requests[1]));
    expect(log.filter((entry) => entry === 'look')).toHaveLength(1);
    expect(log.filter((entry) => entry === 'h.afterAgent')).toHaveLength(1);
  });
});

describe('hooks at the four positions', () => {
  test('they surround agent, model and tools in the order of the graph', async () => {
    const log: string[] = [];
    const says = (request: ModelRequest): ScriptedStep => {
      log.push('model');
      return request.messages.length === 1 ? calls('look') : { text: 'ok' };
    };
    const { agent } = alibaba([says, says], {
      tools: [noting(log, 'look')],
      preset: { hooks: [notingHook(log, 'A'), notingHook(log, 'B')] },
    });

    await agent.call('q');

    const round = ['A.beforeModel', 'B.beforeModel', 'model', 'B.afterModel', 'A.afterModel'];
    expect(log).toEqual([
      'A.beforeAgent',
      'B.beforeAgent',
      ...round,
      'look',
      ...round,
      'B.afterAgent',
      'A.afterAgent',
    ]);
  });

  test('hooks of the same priority keep their order, and negative priorities come first', async () => {
    const log: string[] = [];
    const { agent } = alibaba(['ok'], {
      preset: {
        hooks: [
          notingHook(log, 'A', { priority: 0 }),
          notingHook(log, 'B', { priority: -100 }),
          notingHook(log, 'C'),
          notingHook(log, 'D', { priority: -100 }),
        ],
      },
    });

    await agent.call('q');

    const at = (position: string) => log.filter((entry) => entry.endsWith(position)).join();
    expect(at('.beforeModel')).toBe('B,D,A,C'.replaceAll(/\w/g, '$&.beforeModel'));
    expect(at('.afterAgent')).toBe('C,A,D,B'.replaceAll(/\w/g, '$&.afterAgent'));
  });

  test('the hooks around the agent run once in each of two agent calls', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('look'), 'one', 'two'], {
      tools: [noting([], 'look')],
      preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
    });

    await agent.call('1');
    await agent.call('2');

    expect(log).toEqual(['h.beforeAgent', 'h.afterAgent', 'h.beforeAgent', 'h.afterAgent']);
  });

  test('the input that a hook changes before the agent is stored and is seen by the next hook', async () => {
    const seen: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      systemPrompt: 'Asked: {input}',
      preset: {
        hooks: [
          { name: 'A', beforeAgent: (event) => ({ ...event, input: [userMessage('改过的')] }) },
          { name: 'B', beforeAgent: ({ input }) => void seen.push(...lines(input)) },
        ],
      },
    });

    await agent.call('原来的');

    expect(seen).toEqual(['user: 改过的']);
    expect(sent(model.requests[0])).toEqual(['system: Asked: 改过的', 'user: 改过的']);
    expect(lines(await agent.messages())[0]).toBe('user: 改过的');
  });

  test('a message that a hook adds before the model is in that request only', async () => {
    let round = 0;
    const hint: PositionHook = {
      name: 'hint',
      beforeModel: (event) => ({
        ...event,
        messages: [...event.messages, userMessage(`(round ${++round})`)],
      }),
    };
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting([], 'look')],
      preset: { hooks: [hint] },
    });

    await agent.call('q');

    expect(sent(model.requests[0])).toEqual(['user: q', 'user: (round 1)']);
    expect(sent(model.requests[1]).at(-1)).toBe('user: (round 2)');
    expect(lines(await agent.messages()).join()).not.toContain('round');
  });

  test('a message that a hook adds by a jump to the model stays in the conversation', async () => {
    let added = false;
    const remind: PositionHook = {
      name: 'remind',
      beforeModel(_event, { jumpTo }) {
        if (added) return;
        added = true;
        jumpTo('model', userMessage('(别忘了)'));
      },
    };
    const { model, agent } = alibaba(['ok', 'again'], { preset: { hooks: [remind] } });

    await agent.call('q');
    await agent.call('r');

    expect(sent(model.requests[0])).toEqual(['user: q', 'user: (别忘了)']);
    expect(sent(model.requests[1])).toContain('user: (别忘了)');
  });

  test('the route is chosen after the hooks: a tool call that a hook removes does not run', async () => {
    const log: string[] = [];
    const { agent } = alibaba([{ text: 'text', ...calls('look') }], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          {
            name: 'textOnly',
            afterModel: (event) => ({
              ...event,
              message: {
                ...event.message,
                content: event.message.content.filter(({ type }) => type === 'text'),
              },
            }),
          },
        ],
      },
    });

    const { reason, text } = await agent.call('q');

    expect({ reason, text, log }).toEqual({ reason: 'stop', text: 'text', log: [] });
  });

  test('the route is chosen after the hooks: a tool call that a hook adds runs', async () => {
    const log: string[] = [];
    const addCall: PositionHook = {
      name: 'addCall',
      afterModel: (event) =>
        log.length > 0
          ? undefined
          : {
              ...event,
              message: {
                ...event.message,
                content: [...event.message.content, toolUse('look')],
              },
            },
    };
    const { model, agent } = alibaba(['I am done.', 'Now I am.'], {
      tools: [noting(log, 'look')],
      preset: { hooks: [addCall] },
    });

    const { text } = await agent.call('q');

    expect({ text, log }).toEqual({ text: 'Now I am.', log: ['look'] });
    expect(sent(model.requests[1])).toEqual([
      'user: q',
      'assistant: I am done. look({})',
      'tool: look=look done',
    ]);
  });

  test('hooks after the agent change the answer from the inside out, also in the log', async () => {
    const adding = (name: string): PositionHook => ({
      name,
      afterAgent: (event) => ({
        ...event,
        message: {
          ...event.message,
          content: [{ type: 'text', text: `${textOf(event.message)}${name}` }],
        },
      }),
    });
    const { agent } = alibaba(['答'], { preset: { hooks: [adding('外'), adding('内')] } });

    const { text } = await agent.call('q');

    expect(text).toBe('答内外');
    expect(lines(await agent.messages()).at(-1)).toBe('assistant: 答内外');
  });

  test('a hook that throws before the second request fails the call, and the tools keep their results', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          {
            name: 'breaks',
            beforeModel({ iteration }) {
              if (iteration === 2 && log.length === 1) {
                log.push('broken');
                throw new Error('no');
              }
            },
          },
        ],
      },
    });

    const failed = await agent.call('q', { throwOnError: false });
    const again = await agent.call();

    expect(failed.error?.code).toBe('HOOK_ERROR');
    expect(again.text).toBe('ok');
    expect(log).toEqual(['look', 'broken']);
    expect(model.requests).toHaveLength(2);
  });

  test('a jump to the model after a reply with tool calls closes them and runs the model hooks again', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), 'text'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          notingHook(log, 'A'),
          notingHook(log, 'B', {
            afterModel({ message }, { jumpTo }) {
              if (toolUsesOf(message).length > 0) jumpTo('model', userMessage('不要用工具。'));
            },
          }),
        ],
      },
    });

    const { text } = await agent.call('q');

    expect(text).toBe('text');
    expect(log).not.toContain('look');
    expect(log.filter((entry) => entry === 'A.beforeModel')).toHaveLength(2);
    expect(log.filter((entry) => entry === 'A.afterModel')).toHaveLength(1);
    expect(resultsIn(model.requests[1]!.messages)[0]?.state).toBe('interrupted');
    expect(sent(model.requests[1]).at(-1)).toBe('user: 不要用工具。');
  });

  test('a jump to the tools before the model runs the tool call of the hook, then the model', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          notingHook(log, 'h', {
            beforeModel({ messages }, { jumpTo }) {
              log.push('h.beforeModel');
              if (messages.length === 1) jumpTo('tools', assistantMessage([toolUse('look')]));
            },
          }),
        ],
      },
    });

    await agent.call('q');

    expect(log).toEqual([
      'h.beforeAgent',
      'h.beforeModel',
      'look',
      'h.beforeModel',
      'h.afterModel',
      'h.afterAgent',
    ]);
    expect(sent(model.requests[0])).toEqual([
      'user: q',
      'assistant: look({})',
      'tool: look=look done',
    ]);
  });

  test('hooks of the preset and of positionHooks() in the same agent all run', async () => {
    const log: string[] = [];
    const { agent } = alibaba(['ok'], {
      preset: { hooks: [notingHook(log, 'A')] },
      use: [positionHooks([notingHook(log, 'B')]), positionHooks([notingHook(log, 'C')])],
    });

    await agent.call('q');

    const at = (position: string) => log.filter((entry) => entry.endsWith(position));
    expect(at('.beforeModel')).toEqual(['A.beforeModel', 'B.beforeModel', 'C.beforeModel']);
    expect(at('.afterModel')).toEqual(['A.afterModel', 'B.afterModel', 'C.afterModel']);
    expect(log).toHaveLength(12);
  });

  test('two lists with the same hook are refused, unless the first belongs to the preset', async () => {
    const log: string[] = [];
    const hooks = [notingHook(log, 'A')];
    const { agent } = alibaba(['ok'], { preset: { hooks }, use: [positionHooks(hooks)] });

    await agent.call('q');

    expect(log).toHaveLength(4);
    expect(() => alibaba([], { use: [positionHooks(hooks), positionHooks(hooks)] })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  });

  test('a hook with an unknown position is refused', () => {
    const hooks = [{ name: 'h', beforeTool: () => {} } as PositionHook];

    expect(() => springAiAlibaba({ hooks })).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: expect.stringContaining('`beforeTool`'),
      }),
    );
  });

  test('a rejection before the agent stores nothing and runs no later hook', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      preset: {
        hooks: [
          notingHook(log, 'A'),
          notingHook(log, 'B', { beforeAgent: (_event, { reject }) => reject('不行') }),
          notingHook(log, 'C'),
        ],
      },
    });

    const { reason, text } = await agent.call('q', { throwOnError: false });

    expect({ reason, text, log }).toEqual({
      reason: 'rejected',
      text: '不行',
      log: ['A.beforeAgent'],
    });
    expect(model.requests).toEqual([]);
    expect(await agent.messages()).toEqual([]);
  });

  test('a jump to the tools before the agent skips the later hooks there, and runs the tool', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          notingHook(log, 'A', {
            beforeAgent: (_event, { jumpTo }) =>
              jumpTo('tools', assistantMessage([toolUse('look')])),
          }),
          notingHook(log, 'B'),
        ],
      },
    });

    await agent.call('q');

    expect(log.slice(0, 2)).toEqual(['look', 'A.beforeModel']);
    expect(sent(model.requests[0])).toEqual([
      'user: q',
      'assistant: look({})',
      'tool: look=look done',
    ]);
  });

  test('a hook that fails after the model discards the reply, and the next call asks again', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          {
            name: '坏',
            afterModel({ message }) {
              if (toolUsesOf(message).length > 0) throw new Error('no');
            },
          },
        ],
      },
    });

    const failed = await agent.call('q', { throwOnError: false });
    const again = await agent.call();

    expect(failed.error).toMatchObject({
      code: 'HOOK_ERROR',
      message: expect.stringContaining('坏'),
    });
    expect([again.text, log]).toEqual(['ok', []]);
    expect(sent(model.requests[1])).toEqual(['user: q']);
  });

  test('a jump to the end after the tools answers with what the hook gives', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look')], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          notingHook(log, 'h', {
            beforeModel({ messages }, { jumpTo }) {
              const last = messages.at(-1);
              if (last?.role === 'tool') jumpTo('end', `结果:${lineOf(last)}`, 'stop');
            },
          }),
        ],
      },
    });

    const { text, reason } = await agent.call('q');

    expect([text, reason]).toEqual(['结果:tool: look=look done', 'stop']);
    expect(log).toEqual(['h.beforeAgent', 'h.afterModel', 'look', 'h.afterAgent']);
    model.assertDone();
  });
});

describe('the model node', () => {
  test('the template gets the input, state and variables once, and values are not rendered again', async () => {
    const state = stateKeys({ city: replace('首尔'), empty: replace<string>() });
    const { model, agent } = alibaba(['ok'], {
      systemPrompt: '{city} {day} {input} {empty} {unknown} {"a": 1}',
      preset: { state, variables: { day: '{city}' } },
    });

    await agent.call([userMessage('去{day}'), assistantMessage('好'), userMessage('$& {city}')]);

    const prompt = sent(model.requests[0])[0];
    expect(prompt).toContain('首尔 {city} ');
    expect(prompt).toContain('$& {city}');
    expect(prompt).toContain('{unknown} {"a": 1}');
  });

  test('a variable has precedence over a value of the state, and that over the input', async () => {
    const state = stateKeys({ input: replace('from state'), city: replace('from state') });
    const { model, agent } = alibaba(['ok'], {
      systemPrompt: '{input}, {city}',
      preset: { state, variables: () => ({ city: 'from variables' }) },
    });

    await agent.call('from input');

    expect(sent(model.requests[0])[0]).toBe('system: from state, from variables');
  });

  test('model interceptors run inside the hooks, the first one outermost', async () => {
    const log: string[] = [];
    const { agent } = alibaba(['ok'], {
      preset: { hooks: [notingHook(log, 'h')] },
      use: [notingModel(log, 'a'), notingModel(log, 'b')],
    });

    await agent.call('q');

    expect(log).toEqual([
      'h.beforeAgent',
      'h.beforeModel',
      'a in',
      'b in',
      'b out',
      'a out',
      'h.afterModel',
      'h.afterAgent',
    ]);
  });

  test('a model interceptor gets what the hooks made of the request, and its change is not stored', async () => {
    const seen: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      systemPrompt: '提示',
      tools: [noting([], 'look')],
      preset: {
        hooks: [
          {
            name: 'h',
            beforeModel: (event) => ({
              ...event,
              tools: [],
              messages: [...event.messages, userMessage('附')],
            }),
          },
        ],
      },
      use: [
        {
          wrapModel: (next) =>
            withStream(next, (request, context) => {
              seen.push(...sent(request), `tools: ${request.tools.length}`);
              const messages = [systemMessage('换了'), ...request.messages.slice(1)];
              return next.stream({ ...request, messages }, context);
            }),
        },
      ],
    });

    await agent.call('q');

    expect(seen).toEqual(['system: 提示', 'user: q', 'user: 附', 'tools: 0']);
    expect(sent(model.requests[0])[0]).toBe('system: 换了');
    expect(lines(await agent.messages())).toEqual(['user: q', 'assistant: ok']);
  });

  test('a model interceptor may answer itself, with tool calls that then run', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      tools: [noting(log, 'look')],
      use: [
        {
          wrapModel: (next) =>
            withStream(next, async function* (request, context) {
              if (request.messages.length > 1) return yield* next.stream(request, context);
              yield [{ type: 'tool-input', index: 0, id: 'own', name: 'look', delta: '{"a":1}' }];
              yield [{ type: 'finish', reason: 'tool_calls' }];
            }),
        },
      ],
    });

    await agent.call('q');

    expect(log).toEqual(['look']);
    expect(sent(model.requests[0])).toEqual([
      'user: q',
      'assistant: look({"a":1})',
      'tool: look=look done',
    ]);
  });

  test('a retry is part of one model step: the hooks around the model run once', async () => {
    const log: string[] = [];
    const waits: number[] = [];
    const busy = Object.assign(new Error('busy'), { status: 503 });
    const { model, agent } = alibaba([{ error: busy }, { error: busy }, 'ok'], {
      preset: { hooks: [notingHook(log, 'h')] },
      use: [retry({ sleep: async (ms) => void waits.push(ms), random: () => 0.5 })],
    });

    const { text, iterations } = await agent.call('q');

    expect({ text, iterations, waits }).toEqual({ text: 'ok', iterations: 1, waits: [1000, 2000] });
    expect(model.requests).toHaveLength(3);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'h.afterAgent']);
  });

  test('a fallback after a broken stream retracts the first text for readers and log', async () => {
    const other = new ScriptedModel(['后来的']);
    const { agent } = alibaba([{ text: '先来的', error: new Error('broke') }], {
      use: [fallback([other])],
    });

    const stream = agent.stream('q');
    const seen: string[] = [];
    for await (const event of stream) {
      if (event.type === 'reasoning-chunk') seen.push(event.delta);
      if (event.type === 'step-reset') seen.push('reset');
    }

    expect(seen).toEqual(['先来的', 'reset', '后来的']);
    expect((await stream.result).text).toBe('后来的');
    expect(lines(await agent.messages())).toEqual(['user: q', 'assistant: 后来的']);
  });

  test('the answer of a call is a value in the template of the next call, inserted as it is', async () => {
    const state = stateKeys(
      { answer: replace<string>(), shop: replace({ 名: ['서울'] }) },
      { outputKey: 'answer' },
    );
    const { model, agent } = alibaba(['答 {input}', 'ok'], {
      systemPrompt: '{answer} {shop}',
      preset: { state },
    });

    await agent.call('a');
    await agent.call('b');

    expect(model.requests.map((request) => sent(request)[0])).toEqual([
      'system: {answer} {"名":["서울"]}',
      'system: 答 {input} {"名":["서울"]}',
    ]);
  });

  test('a list of messages that ends with an answer goes to the model', async () => {
    const { model, agent } = alibaba(['再说']);

    await agent.call([userMessage('q'), assistantMessage('答')]);

    expect(sent(model.requests[0])).toEqual(['user: q', 'assistant: 答']);
  });
});

describe('the tool node', () => {
  /** Returns a tool whose runs wait, and the largest number of runs at the same time. */
  function counting() {
    const count = { now: 0, most: 0 };
    const wait = noting([], 'wait', {
      run: async () => {
        count.now += 1;
        count.most = Math.max(count.most, count.now);
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        count.now -= 1;
        return 'waited';
      },
    });
    return { wait, count };
  }

  test.each([
    { parallelToolExecution: false, most: 1 },
    { parallelToolExecution: true, most: 5 },
  ])(
    'with parallelToolExecution $parallelToolExecution, $most of seven tool calls run at once',
    async ({ parallelToolExecution, most }) => {
      const { wait, count } = counting();
      const seven = { toolCalls: Array.from({ length: 7 }, () => ({ name: 'wait' })) };
      const { model, agent } = alibaba([seven, 'ok'], {
        tools: [wait],
        preset: { parallelToolExecution },
      });

      await agent.call('q');

      expect(count).toEqual({ now: 0, most });
      expect(resultsIn(model.requests[1]!.messages)).toHaveLength(7);
    },
  );

  test('parallel tools that end in reverse leave their results in the order of the calls', async () => {
    const ended: string[] = [];
    let release!: () => void;
    const second = new Promise<void>((resolve) => (release = resolve));
    const first = noting([], 'first', {
      run: async () => {
        await second;
        ended.push('first');
        return '一';
      },
    });
    const last = noting([], 'last', {
      run: () => {
        ended.push('last');
        release();
        return '二';
      },
    });
    const { model, agent } = alibaba([calls('first', 'last'), 'ok'], {
      tools: [first, last],
      preset: { parallelToolExecution: true },
    });

    await agent.call('q');

    expect(ended).toEqual(['last', 'first']);
    const results = resultsIn(model.requests[1]!.messages).map(({ output }) => output);
    expect(results).toEqual(['一', '二']);
  });

  test('an unknown tool and a tool that throws give error results, and the later tools still run', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('fly', 'breaks', 'look'), 'ok'], {
      tools: [
        noting(log, 'breaks', {
          run: () => {
            throw new Error('断了');
          },
        }),
        noting(log, 'look'),
      ],
    });

    const { reason, toolsUsed } = await agent.call('q');

    expect({ reason, toolsUsed }).toEqual({ reason: 'stop', toolsUsed: ['breaks', 'look'] });
    expect(log).toEqual(['breaks', 'look']);
    const results = resultsIn(model.requests[1]!.messages);
    expect(results.map(({ state }) => state)).toEqual(['error', 'error', 'success']);
    expect(outputText(results[1]!.output)).toContain('断了');
  });

  test('tool interceptors wrap each call of a reply, the first one outermost', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('x', 'y'), 'ok'], {
      tools: [noting(log, 'x'), noting(log, 'y')],
      use: [notingTool(log, 'a'), notingTool(log, 'b')],
    });

    await agent.call('q');

    const around = (name: string) => [
      `a in ${name}`,
      `b in ${name}`,
      name,
      `b out ${name}`,
      `a out ${name}`,
    ];
    expect(log).toEqual([...around('x'), ...around('y')]);
  });

  test('a tool interceptor may change arguments and result, and both model and log get the result', async () => {
    const inputs: unknown[] = [];
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting([], 'look', { run: (input) => void inputs.push(input) })],
      use: [
        {
          wrapTool: (next) => async (call, context) => {
            const outcome = await next({ ...call, input: { city: '釜山' } }, context);
            return 'output' in outcome ? { ...outcome, output: '已改' } : outcome;
          },
        },
      ],
    });

    await agent.call('q');

    expect(inputs).toEqual([{ city: '釜山' }]);
    expect(sent(model.requests[1]).at(-1)).toBe('tool: look=已改');
    expect(lines(await agent.messages())).toContain('tool: look=已改');
  });

  test('a tool interceptor may answer instead of the tool, also as the direct answer', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('report')], {
      tools: [noting(log, 'report', { returnDirect: true })],
      use: [
        {
          wrapTool:
            () =>
            async ({ toolUse: { id, name } }) => ({
              type: 'tool_result',
              toolUseId: id,
              name,
              output: '缓存',
              state: 'success',
            }),
        },
      ],
    });

    const { text, reason } = await agent.call('q');

    expect({ text, reason, log }).toEqual({ text: '缓存', reason: 'return-direct', log: [] });
    model.assertDone();
  });

  test('several direct results become a JSON list in the order of the calls; the hooks after the agent see it', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('b', 'a')], {
      tools: ['a', 'b'].map((name) => noting([], name, { returnDirect: true })),
      preset: {
        parallelToolExecution: true,
        hooks: [
          notingHook(log, 'h', { afterAgent: ({ message }) => void log.push(textOf(message)) }),
        ],
      },
    });

    const { text } = await agent.call('q');

    expect(JSON.parse(text)).toEqual(['b done', 'a done']);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', text]);
  });

  test('a tool that fails twice runs three times inside one tool call', async () => {
    const log: string[] = [];
    const flaky = noting(log, 'flaky', {
      run: () => {
        if (log.length < 3) throw new Error('again');
        return '好了';
      },
    });
    const { model, agent } = alibaba([calls('flaky'), 'ok'], {
      tools: [flaky],
      use: [toolRetry({ isTransient: () => true, sleep: async () => {} })],
    });

    await agent.call('q');

    expect(log).toHaveLength(3);
    expect(sent(model.requests[1]).at(-1)).toBe('tool: flaky=好了');
  });

  test('the events of a round come in the order of the graph, with the progress of the tool', async () => {
    const { agent } = alibaba([calls('look'), 'ok'], {
      tools: [
        noting([], 'look', {
          run: (_input, { emit }) => {
            emit('一半');
            return 'done';
          },
        }),
      ],
    });

    const types: string[] = [];
    for await (const { type } of agent.stream('q')) types.push(type);

    expect(types.filter((type) => type !== 'tool-input-chunk')).toEqual([
      'run-start',
      'pre-call',
      'pre-reasoning',
      'post-reasoning',
      'pre-acting',
      'acting-chunk',
      'post-acting',
      'pre-reasoning',
      'reasoning-chunk',
      'post-reasoning',
      'post-call',
      'run-end',
    ]);
  });

  test('a tool that times out gives an error result, and the next tool of the reply runs', async () => {
    const log: string[] = [];
    const slow = tool({
      name: 'slow',
      description: 'never ends',
      input: anyInput,
      timeoutMs: 1,
      execute: () => new Promise<string>(() => {}),
    });
    const { model, agent } = alibaba([calls('slow', 'look'), 'ok'], {
      tools: [slow, noting(log, 'look')],
    });

    await agent.call('q');

    const states = resultsIn(model.requests[1]!.messages).map(({ state }) => state);
    expect([states, log]).toEqual([['error', 'success'], ['look']]);
  });

  test('an interrupt during the first of two tools starts no other tool, and the answer is its message', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('a', 'b')], {
      tools: [
        noting(log, 'a', { run: (_input, context) => void context.interrupt('停') }),
        noting(log, 'b'),
      ],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const { reason, text } = await agent.call('q');

    expect([reason, text]).toEqual(['interrupted', '停']);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'a']);
    const states = resultsIn(await agent.messages()).map(({ state }) => state);
    expect(states).toEqual(['success', 'interrupted']);
    model.assertDone();
  });

  test('two tool calls with one id both run, and each has its own result', async () => {
    const log: string[] = [];
    const same = { toolCalls: ['a', 'b'].map((name) => ({ name, id: 'same' })) };
    const { model, agent } = alibaba([same, 'ok'], { tools: [noting(log, 'a'), noting(log, 'b')] });

    await agent.call('q');

    expect(log).toEqual(['a', 'b']);
    expect(sent(model.requests[1]).slice(2)).toEqual(['tool: a=a done', 'tool: b=b done']);
    expect(new Set(resultsIn(model.requests[1]!.messages).map((one) => one.toolUseId)).size).toBe(
      2,
    );
  });
});

describe('approvals', () => {
  const approving = humanInTheLoop({ approvalOn: { pay: '要付款', 'send*': true } });
  const decide = (name: string, rest: object): Decision =>
    ({ toolUseId: `${name}-id`, name, ...rest }) as Decision;

  test('a reply with an approval defers its other tool calls, and the decisions run only the unanswered ones', async () => {
    const log: string[] = [];
    const inputs: unknown[] = [];
    const { model, agent } = alibaba([calls('look', 'pay', 'send'), 'ok'], {
      tools: [
        noting(log, 'look'),
        noting(log, 'pay', { run: (input) => void inputs.push(input) }),
        noting(log, 'send'),
      ],
      use: [approving],
    });

    const asked = await agent.call('q');
    const before = [...log];
    await agent.call([
      decide('send', { type: 'reject', reason: '不要发' }),
      decide('pay', { type: 'edit', input: { amount: 5 } }),
    ]);

    expect(asked.reason).toBe('suspended');
    expect(asked.pending.map(({ name }) => name)).toEqual(['pay', 'send']);
    expect(asked.pending[0]?.reason).toBe('要付款');
    expect(before).toEqual([]);
    expect(log).toEqual(['look', 'pay']);
    expect(inputs).toEqual([{ amount: 5 }]);
    const messages = model.requests[1]!.messages;
    expect(lineOf(messages[1]!)).toBe('assistant: look({}) pay({"amount":5}) send({})');
    const results = resultsIn(messages);
    expect(results.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'look success',
      'pay success',
      'send denied',
    ]);
    expect(outputText(results[2]!.output)).toContain('不要发');
  });

  test('if all tool calls are rejected, the model is asked and no tool runs', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('pay', 'send'), 'ok'], {
      tools: [noting(log, 'pay'), noting(log, 'send')],
      use: [approving],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    await agent.call('q');
    log.length = 0;
    const { text } = await agent.call([
      decide('pay', { type: 'reject' }),
      decide('send', { type: 'reject' }),
    ]);

    expect(text).toBe('ok');
    expect(log).toEqual(['h.beforeModel', 'h.afterModel', 'h.afterAgent']);
    expect(model.requests).toHaveLength(2);
  });

  test('another agent on the same session carries out the decisions and the deferred calls', async () => {
    const store = new MemoryStore();
    const log: string[] = [];
    const open = (replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        sessionId: '会话',
        memory: new SessionMemory(store, '会话'),
        tools: [noting(log, 'look'), noting(log, 'pay')],
        use: [approving],
        preset: { hooks: [notingHook(log, 'h')] },
      });

    await open([calls('look', 'pay')]).agent.call('q');
    log.length = 0;
    const { model, agent } = open(['ok']);
    const { text } = await agent.call([decide('pay', { type: 'approve' })]);

    expect(text).toBe('ok');
    expect(log).toEqual(['look', 'pay', 'h.beforeModel', 'h.afterModel', 'h.afterAgent']);
    expect(resultsIn(model.requests[0]!.messages)).toHaveLength(2);
  });

  test('feedback with the name of another tool changes nothing', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('pay'), 'ok'], {
      tools: [noting(log, 'pay'), noting(log, 'send')],
      use: [approving],
    });

    await agent.call('q');
    const wrong = await agent.call([{ toolUseId: 'pay-id', name: 'send', type: 'approve' }], {
      throwOnError: false,
    });
    const right = await agent.call([decide('pay', { type: 'approve' })]);

    expect(wrong.error?.code).toBe('INVALID_DECISION');
    expect([right.text, log]).toEqual(['ok', ['pay']]);
  });

  test('an approval is asked for the tool calls that the hooks after the model leave', async () => {
    const log: string[] = [];
    const rename: PositionHook = {
      name: 'rename',
      afterModel: (event) => ({
        ...event,
        message: {
          ...event.message,
          content: event.message.content.map((block) =>
            block.type === 'tool_use' ? { ...block, name: 'pay' } : block,
          ),
        },
      }),
    };
    const { agent } = alibaba([calls('look')], {
      tools: [noting(log, 'look'), noting(log, 'pay')],
      use: [approving],
      preset: { hooks: [rename] },
    });

    const { reason, pending } = await agent.call('q');

    expect([reason, pending[0]?.name, log]).toEqual(['suspended', 'pay', []]);
  });

  test('a new message after patchToolCalls closes the pending calls and is a new agent call', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('pay', 'look'), 'ok'], {
      tools: [noting(log, 'pay'), noting(log, 'look')],
      use: [approving, patchToolCalls()],
      preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
    });

    await agent.call('付');
    await agent.call('算了');

    const results = resultsIn(model.requests[1]!.messages);
    expect(results.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'pay interrupted',
      'look interrupted',
    ]);
    expect(sent(model.requests[1]).at(-1)).toBe('user: 算了');
    expect(log).toEqual(['h.beforeAgent', 'h.beforeAgent', 'h.afterAgent']);
  });

  test('the approval of a child agent suspends the parent, and an approval continues both', async () => {
    const log: string[] = [];
    const child = alibaba([calls('pay'), '付了'], {
      name: 'cashier',
      tools: [noting(log, 'pay')],
      use: [approving],
    });
    const { model, agent } = alibaba(
      [{ toolCalls: [{ name: 'call_cashier', id: 'child', input: { message: '付' } }] }, 'ok'],
      { tools: [agentTool(child.agent, { description: 'pays' })] },
    );

    const asked = await agent.call('q');
    const done = await agent.call([{ toolUseId: 'child', type: 'approve' }]);

    expect([asked.reason, asked.pending.length]).toEqual(['suspended', 1]);
    expect([done.text, log]).toEqual(['ok', ['pay']]);
    expect(sent(model.requests[1]).at(-1)).toContain('付了');
  });

  test('all decisions of a reply are asked for at once, also if tools run one after the other', async () => {
    const log: string[] = [];
    const asking = { now: 0, most: 0 };
    const decideSlowly = async () => {
      asking.now += 1;
      asking.most = Math.max(asking.most, asking.now);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      asking.now -= 1;
      log.push('decided');
      return { type: 'approve' } as const;
    };
    const { agent } = alibaba([calls('look', 'pay', 'send'), 'ok'], {
      tools: [noting(log, 'look'), noting(log, 'pay'), noting(log, 'send')],
      use: [humanInTheLoop({ approvalOn: { pay: true, send: true }, decide: decideSlowly })],
    });

    await agent.call('q');

    expect(asking.most).toBe(2);
    expect(log).toEqual(['decided', 'decided', 'look', 'pay', 'send']);
  });

  test('approved direct tools give the answer without another request; a rejected one goes to the model', async () => {
    const open = () =>
      alibaba([calls('pay', 'send'), 'ok'], {
        tools: ['pay', 'send'].map((name) => noting([], name, { returnDirect: true })),
        use: [approving],
      }).agent;
    const [direct, mixed] = [open(), open()];
    await direct.call('q');
    await mixed.call('q');

    const both = await direct.call([
      decide('pay', { type: 'approve' }),
      decide('send', { type: 'approve' }),
    ]);
    const one = await mixed.call([
      decide('pay', { type: 'approve' }),
      decide('send', { type: 'reject' }),
    ]);

    expect([both.reason, both.text]).toEqual(['return-direct', '["pay done","send done"]']);
    expect([one.reason, one.text]).toEqual(['stop', 'ok']);
  });

  test('a tool call whose arguments are not JSON is refused without an approval', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([{ toolCalls: [{ name: 'pay', input: '{坏' }] }, 'ok'], {
      tools: [noting(log, 'pay')],
      use: [approving],
    });

    const { reason } = await agent.call('q');

    expect([reason, log]).toEqual(['stop', []]);
    expect(resultsIn(model.requests[1]!.messages)[0]?.state).toBe('error');
  });

  test('edited arguments are checked like those of the model', async () => {
    const inputs: unknown[] = [];
    const pay = tool({
      name: 'pay',
      description: 'pays',
      input: z.object({ amount: z.number() }),
      execute: (input) => void inputs.push(input),
    });
    const first = { toolCalls: [{ name: 'pay', id: 'pay-id', input: { amount: 1 } }] };
    const { model, agent } = alibaba([first, 'ok'], { tools: [pay], use: [approving] });
    await agent.call('q');

    await agent.call([decide('pay', { type: 'edit', input: { amount: '多' } })]);

    expect(inputs).toEqual([]);
    expect(sent(model.requests[1])[1]).toBe('assistant: pay({"amount":"多"})');
    expect(resultsIn(model.requests[1]!.messages)[0]?.state).toBe('error');
  });

  test('tool calls that a hook runs by a jump need their approval too', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      tools: [noting(log, 'pay')],
      use: [approving],
      preset: {
        hooks: [
          notingHook(log, 'h', {
            beforeModel({ messages }, { jumpTo }) {
              if (messages.length === 1) jumpTo('tools', assistantMessage([toolUse('pay')]));
            },
          }),
        ],
      },
    });

    const asked = await agent.call('q');
    const before = [...log];
    await agent.call([decide('pay', { type: 'approve' })]);

    expect([asked.reason, before]).toEqual(['suspended', ['h.beforeAgent']]);
    expect(log.slice(1)).toEqual(['pay', 'h.afterModel', 'h.afterAgent']);
    expect(model.requests).toHaveLength(1);
  });

  test('a stream that continues an edited call shows the new arguments and then the results in order', async () => {
    const { agent } = alibaba([calls('look', 'pay'), 'ok'], {
      tools: [noting([], 'look'), noting([], 'pay')],
      use: [approving],
    });
    for await (const _ of agent.stream('q'));

    const acting: string[] = [];
    const edit = decide('pay', { type: 'edit', input: { to: '金' } });
    for await (const event of agent.stream([edit])) {
      if (event.type === 'pre-acting' && event.toolUse.name === 'pay')
        acting.push(`before ${JSON.stringify(event.toolUse.input)}`);
      if (event.type === 'post-acting') acting.push(event.toolUse.name);
    }

    expect(acting).toEqual(['before {"to":"金"}', 'look', 'pay']);
  });
});

describe('pauses and injected messages', () => {
  const pause = { mode: 'pause' } as const;

  test('a pause during the tools lets all tools of the reply finish and stops before the model', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('first', 'second'), 'ok'], {
      tools: [
        noting(log, 'first', { run: (_input, context) => void context.interrupt(pause) }),
        noting(log, 'second'),
      ],
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const paused = await agent.call('q');
    const before = [...log];
    const resumed = await agent.call();

    expect([paused.reason, paused.pending, model.requests.length]).toEqual(['suspended', [], 2]);
    expect(before).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.afterModel', 'first', 'second']);
    expect(log.slice(before.length)).toEqual(['h.beforeModel', 'h.afterModel', 'h.afterAgent']);
    expect(resumed.text).toBe('ok');
  });

  test('a pause that a hook before the agent asks for stops before the first request', async () => {
    let asked = false;
    const { model, agent } = alibaba(['ok'], {
      preset: {
        hooks: [
          {
            name: 'h',
            beforeAgent(_event, _control, context) {
              asked = context.interrupt(pause);
            },
          },
        ],
      },
    });

    const paused = await agent.call('问题');
    const requests = model.requests.length;
    const resumed = await agent.call();

    expect([asked, paused.reason, requests]).toEqual([true, 'suspended', 0]);
    expect([resumed.reason, sent(model.requests[0])]).toEqual(['stop', ['user: 问题']]);
  });

  test('a pause that a hook after the model asks for runs the tools of the reply first', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('look'), 'ok'], {
      tools: [noting(log, 'look')],
      preset: {
        hooks: [
          {
            name: 'h',
            afterModel({ message }, _control, context) {
              if (toolUsesOf(message).length > 0) context.interrupt(pause);
            },
          },
        ],
      },
    });

    const paused = await agent.call('q');
    const before = [...log];
    const resumed = await agent.call();

    expect([paused.reason, before]).toEqual(['suspended', ['look']]);
    expect([resumed.text, log, model.requests.length]).toEqual(['ok', ['look'], 2]);
  });

  test('two pauses of an idle agent pause its next call once', async () => {
    const { model, agent } = alibaba(['one', 'two']);

    const accepted = [agent.interrupt(pause), agent.interrupt(pause)];
    const paused = await agent.call('q');
    const resumed = await agent.call();
    const next = await agent.call('r');

    expect(accepted).toEqual([true, true]);
    expect(paused.reason).toBe('suspended');
    expect([resumed.text, next.text]).toEqual(['one', 'two']);
    expect(sent(model.requests[0])).toEqual(['user: q']);
  });

  test('messages that a hook injects beside an approval wait until the tool calls have results', async () => {
    const { model, agent } = alibaba([calls('pay'), 'ok'], {
      tools: [noting([], 'pay')],
      use: [humanInTheLoop({ approvalOn: { pay: true } })],
      preset: {
        hooks: [
          {
            name: 'h',
            afterModel({ message }, _control, context) {
              if (toolUsesOf(message).length > 0)
                context.interrupt({ mode: 'inject', messages: '小心' });
            },
          },
        ],
      },
    });

    const asked = await agent.call('q');
    await agent.call([{ toolUseId: 'pay-id', type: 'approve' }]);

    expect(asked.reason).toBe('suspended');
    expect(sent(model.requests[1])).toEqual([
      'user: q',
      'assistant: pay({})',
      'tool: pay=pay done',
      'user: 小心',
    ]);
  });

  test('a pause that a hook before the model asks for sends no request, and the hook runs again', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['ok'], {
      preset: {
        hooks: [
          notingHook(log, 'h', {
            beforeModel(_event, _control, context) {
              if (log.push('h.beforeModel') === 2) context.interrupt(pause);
            },
          }),
        ],
      },
    });

    const paused = await agent.call('q');
    const requests = model.requests.length;
    const resumed = await agent.call();

    expect([paused.reason, requests, resumed.text]).toEqual(['suspended', 0, 'ok']);
    expect(log).toEqual([
      'h.beforeAgent',
      'h.beforeModel',
      'h.beforeModel',
      'h.afterModel',
      'h.afterAgent',
    ]);
  });

  test('a pause between two deltas drops the partial reply when the call continues', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['一 二 三', '完整'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      preset: { hooks: [notingHook(log, 'h')] },
    });

    const stream = agent.stream('q');
    for await (const { type } of stream) if (type === 'reasoning-chunk') agent.interrupt(pause);
    const paused = await stream.result;
    const resumed = await agent.call();

    expect([paused.reason, resumed.text]).toEqual(['suspended', '完整']);
    expect(sent(model.requests[1])).toEqual(['user: q']);
    expect(lines(await agent.messages())).toEqual(['user: q', 'assistant: 完整']);
    expect(log.filter((entry) => entry === 'h.afterModel')).toHaveLength(1);
  });

  test('a pause that comes with the last reply does not stop the call, nor the next one', async () => {
    let pauses = 0;
    const once: PositionHook = {
      name: 'h',
      afterModel(_event, _control, context) {
        if (pauses++ === 0) context.interrupt(pause);
      },
    };
    const { agent } = alibaba(['one', 'two'], { preset: { hooks: [once] } });

    const first = await agent.call('q');
    const second = await agent.call('r');

    expect([first.reason, first.text]).toEqual(['stop', 'one']);
    expect([second.reason, second.text]).toEqual(['stop', 'two']);
  });

  test('a new message continues a paused call after its input', async () => {
    const { model, agent } = alibaba(['ok']);
    agent.interrupt(pause);
    await agent.call('问');

    const { reason } = await agent.call('再问');

    expect(reason).toBe('stop');
    expect(sent(model.requests[0])).toEqual(['user: 问', 'user: 再问']);
  });

  test('a message that is injected during the last reply asks the model once more', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba(['one', 'two'], {
      preset: {
        hooks: [
          notingHook(log, 'h', {
            afterModel({ message }, _control, context) {
              if (textOf(message) === 'one')
                context.interrupt({ mode: 'inject', messages: '还有' });
            },
          }),
        ],
      },
    });

    const { text } = await agent.call('q');

    expect(text).toBe('two');
    expect(sent(model.requests[1])).toEqual(['user: q', 'assistant: one', 'user: 还有']);
    expect(log).toEqual(['h.beforeAgent', 'h.beforeModel', 'h.beforeModel', 'h.afterAgent']);
  });

  test('a pause of the parent lets its child agent finish', async () => {
    const child = alibaba([calls('look'), '孩子完了'], {
      name: 'child',
      tools: [noting([], 'look', { run: () => void agent.interrupt(pause) })],
    });
    const asks = { toolCalls: [{ name: 'call_child', input: { message: 'm' } }] };
    const { model, agent } = alibaba([asks, 'ok'], {
      tools: [agentTool(child.agent, { description: 'helps' })],
    });

    const paused = await agent.call('q');
    const resumed = await agent.call();

    expect([paused.reason, resumed.text]).toEqual(['suspended', 'ok']);
    expect(sent(model.requests[1]).at(-1)).toContain('孩子完了');
    child.model.assertDone();
  });
});

describe('state and checkpoints', () => {
  test('hooks at all positions and parallel tools update one state by its strategies', async () => {
    const state = stateKeys({
      last: replace<string>(),
      trail: append<string>(),
      counts: merge<Record<string, number>>(),
    });
    const write = (name: string) => (event: { readonly runId: string }) =>
      state.of(event).write({ last: name, trail: name, counts: { [name]: 1 } });
    const writing = (name: string) =>
      noting([], name, {
        run: (_input, context) => {
          state.of(context).write({ trail: [name], counts: { [name]: 2 } });
          return name;
        },
      });
    const { model, agent } = alibaba([calls('x', 'y'), 'ok', 'again'], {
      systemPrompt: 'last: {last}',
      tools: [writing('x'), writing('y')],
      preset: {
        state,
        parallelToolExecution: true,
        hooks: [
          {
            name: 'h',
            beforeAgent: write('beforeAgent'),
            beforeModel: write('beforeModel'),
            afterModel: write('afterModel'),
            afterAgent: write('afterAgent'),
          },
        ],
      },
    });

    await agent.call('q');
    const values = state.of(agent).all();
    await agent.call('r');

    const round = ['beforeModel', 'afterModel'];
    expect(values.trail).toEqual(['beforeAgent', ...round, 'x', 'y', ...round, 'afterAgent']);
    expect(values.counts).toMatchObject({ x: 2, y: 2, afterAgent: 1 });
    expect(values.last).toBe('afterAgent');
    expect(sent(model.requests[0])[0]).toBe('system: last: beforeAgent');
    expect(sent(model.requests[2])[0]).toBe('system: last: beforeAgent');
  });

  test('the output key holds the answer after the hooks, a typed value, and nothing of a suspended call', async () => {
    const state = stateKeys(
      { question: replace<string>(), answer: replace<unknown>() },
      { inputKey: 'question', outputKey: 'answer' },
    );
    const shout: PositionHook = {
      name: 'shout',
      afterAgent: (event) => ({
        ...event,
        message: { ...event.message, content: [{ type: 'text', text: '改过的答' }] },
      }),
    };
    const { agent } = alibaba(['答', '{"n":1}', calls('pay')], {
      tools: [noting([], 'pay')],
      preset: { state, hooks: [shout] },
      use: [humanInTheLoop({ approvalOn: { pay: true } })],
    });
    const seen: unknown[] = [];
    const look = () => seen.push({ ...state.of(agent).all() });

    await agent.call('问');
    look();
    await agent.call('数', { output: structured({ type: 'object' }, { mode: 'prompt' }) });
    look();
    await agent.call('付');
    look();

    expect(seen).toEqual([
      { question: '问', answer: '改过的答' },
      { question: '数', answer: { n: 1 } },
      { question: '付', answer: { n: 1 } },
    ]);
  });

  test('two threads of one store stay apart, and two agents on one thread share it', async () => {
    const store = new MemoryStore();
    const state = stateKeys({ names: append<string>() });
    const open = (thread: string, replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        sessionId: thread,
        memory: new SessionMemory(store, thread),
        systemPrompt: '{names}',
        preset: {
          state,
          hooks: [{ name: 'h', afterAgent: (event) => state.of(event).write({ names: thread }) }],
        },
      });

    await open('甲', ['1']).agent.call('我是甲');
    await open('乙', ['2']).agent.call('我是乙');
    const again = open('甲', ['3']);
    await again.agent.call('我是谁?');

    expect(sent(again.model.requests[0])).toEqual([
      'system: ["甲"]',
      'user: 我是甲',
      'assistant: 1',
      'user: 我是谁?',
    ]);
  });

  test('there is a checkpoint after each node, and a return to one before the tools runs them again', async () => {
    const log: string[] = [];
    const state = stateKeys({ trail: append<string>() });
    const { model, agent } = alibaba([calls('look'), 'one', 'two'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      tools: [
        noting(log, 'look', {
          run: (_input, context) => {
            state.of(context).write({ trail: `run ${log.length}` });
            return `look ${log.length}`;
          },
        }),
      ],
      preset: { state },
    });
    await agent.call('q');

    const checkpoints = await listCheckpoints(agent);
    const replied = checkpoints.find(({ message }) => toolUsesOf(message).length > 0);
    await returnToCheckpoint(agent, replied!.id);
    const { text } = await agent.call();

    expect(checkpoints.map(({ message }) => message.role)).toEqual(
      expect.arrayContaining(['user', 'assistant', 'tool']),
    );
    expect([text, log]).toEqual(['two', ['look', 'look']]);
    expect(sent(model.requests[2]).at(-1)).toBe('tool: look=look 2');
    expect(state.of(agent).read('trail')).toEqual(['run 2']);
  });

  test('a saved state carries an open approval and the values to another agent', async () => {
    const log: string[] = [];
    const state = stateKeys({ city: replace<string>() });
    const open = (replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        systemPrompt: '{city}',
        tools: [noting(log, 'look'), noting(log, 'pay')],
        use: [humanInTheLoop({ approvalOn: { pay: true } })],
        preset: {
          state,
          hooks: [{ name: 'h', beforeAgent: (event) => state.of(event).write({ city: '首尔' }) }],
        },
      });
    const first = open([calls('look', 'pay')]);
    await first.agent.call('q');

    const { model, agent } = open(['ok']);
    await loadState(agent, JSON.parse(JSON.stringify(await saveState(first.agent))));
    await agent.call([{ toolUseId: 'pay-id', type: 'approve' }]);

    expect(log).toEqual(['look', 'pay']);
    expect(sent(model.requests[0])[0]).toBe('system: 首尔');
  });

  test('the state of the preset and further stateKeys() work in one agent', async () => {
    const state = stateKeys({ city: replace('首尔') });
    const more = stateKeys({ count: replace(0) });
    const { model, agent } = alibaba(['ok'], {
      systemPrompt: '{city} {count}',
      preset: {
        state,
        hooks: [{ name: 'h', beforeAgent: (event) => more.of(event).write({ count: 1 }) }],
      },
      use: [more],
    });

    await agent.call('q');

    expect(sent(model.requests[0])[0]).toBe('system: 首尔 {count}');
    expect([state.of(agent).all(), more.of(agent).all()]).toEqual([{ city: '首尔' }, { count: 1 }]);
  });

  test('after a return to an earlier input, only the hooks after the agent still run once', async () => {
    const log: string[] = [];
    const { agent } = alibaba([calls('look'), 'one', 'two', 'three'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      tools: [noting([], 'look')],
      preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
    });
    await agent.call('q');
    const checkpoints = await listCheckpoints(agent);
    log.length = 0;

    await returnToCheckpoint(agent, checkpoints[0]!.id);
    await agent.call();
    await returnToCheckpoint(agent, checkpoints.at(-1)!.id);
    await agent.call('r');

    expect(checkpoints.map(({ reason }) => reason ?? 'open')).toEqual([
      'open',
      'open',
      'open',
      'stop',
    ]);
    expect(log).toEqual(['h.afterAgent', 'h.beforeAgent', 'h.afterAgent']);
    expect(lines(await agent.messages()).slice(-3)).toEqual([
      'assistant: one',
      'user: r',
      'assistant: three',
    ]);
  });

  test('a return to a checkpoint also takes back the count of a thread limit', async () => {
    const { agent } = alibaba(['one', 'two', 'three'], {
      memory: new SessionMemory(new MemoryStore(), 's'),
      use: [modelCallLimit({ session: 2 })],
    });
    await agent.call('a');
    const one = (await listCheckpoints(agent)).at(-1);
    await agent.call('b');

    const over = await agent.call('c');
    await returnToCheckpoint(agent, one!.id);
    const again = await agent.call('d');

    expect([over.reason, again.reason, again.text]).toEqual(['limit', 'stop', 'three']);
  });
});

describe('limits and the context', () => {
  test('a model call limit lets exactly its number of requests through, then ends the call with a text', async () => {
    const log: string[] = [];
    const round = () => ({ toolCalls: [{ name: 'look' }] });
    const open = (replies: readonly ScriptedReply[]) =>
      alibaba(replies, {
        tools: [noting(log, 'look')],
        use: [modelCallLimit({ run: 2, message: '够了' })],
        preset: { hooks: [notingHook(log, 'h', { beforeModel: () => {}, afterModel: () => {} })] },
      });

    const fits = await open([round, 'ok']).agent.call('q');
    const { model, agent } = open([round, round]);
    log.length = 0;
    const exceeds = await agent.call('q');

    expect([fits.reason, fits.text]).toEqual(['stop', 'ok']);
    expect([exceeds.reason, exceeds.text]).toEqual(['limit', '够了']);
    expect(log).toEqual(['h.beforeAgent', 'look', 'look', 'h.afterAgent']);
    expect(lines(await agent.messages()).at(-1)).toBe('assistant: 够了');
    model.assertDone();
  });

  test('the thread limit counts over agents on one session, and the exit `error` fails the call', async () => {
    const store = new MemoryStore();
    const log: string[] = [];
    const open = (session: string) =>
      alibaba(['ok'], {
        memory: new SessionMemory(store, session),
        use: [modelCallLimit({ session: 2, exit: 'error' })],
        preset: { hooks: [notingHook(log, 'h')] },
      }).agent;
    await open('甲').call('1');
    await open('甲').call('2');
    log.length = 0;

    const third = await open('甲').call('3', { throwOnError: false });
    const other = await open('乙').call('1');

    expect([third.reason, third.error?.code]).toEqual(['error', 'LIMIT_EXCEEDED']);
    expect(other.text).toBe('ok');
    expect(log.filter((entry) => entry === 'h.afterAgent')).toHaveLength(1);
  });

  test('a tool call limit refuses the whole reply that exceeds it, and rejected calls do not count', async () => {
    const log: string[] = [];
    const call = (id: string) => ({ name: 'pay', id });
    const { model, agent } = alibaba(
      [
        { toolCalls: [call('1'), call('2')] },
        { toolCalls: [call('3')] },
        { toolCalls: [call('4'), call('5')] },
      ],
      {
        tools: [noting(log, 'pay')],
        use: [
          humanInTheLoop({
            approvalOn: { pay: true },
            decide: ({ toolUseId }) => ({ type: toolUseId === '1' ? 'reject' : 'approve' }),
          }),
          toolCallLimit({ tool: 'pay', session: 3 }),
        ],
      },
    );

    const { reason } = await agent.call('q');

    expect([reason, log]).toEqual(['limit', ['pay', 'pay']]);
    const states = resultsIn(await agent.messages()).map(({ state }) => state);
    expect(states).toEqual(['denied', 'success', 'success', 'interrupted', 'interrupted']);
    model.assertDone();
  });

  test('a summary keeps the first user message and whole tool rounds, and the log keeps everything', async () => {
    const long = '很长的回答。'.repeat(200);
    const { model, agent } = alibaba([calls('look'), long, long, '短'], {
      tools: [noting([], 'look')],
      use: [
        summarization({
          maxTokens: 400,
          summaryTokens: 50,
          keep: 2,
          model: new ScriptedModel(Array.from({ length: 5 }, () => '概要')),
          heading: '## 前情',
        }),
      ],
    });

    await agent.call('最初的问题');
    await agent.call('第二个问题');
    await agent.call('第三个问题');

    const last = sent(model.requests.at(-1));
    expect(last.join('\n')).toContain('## 前情');
    expect(last.find((line) => line.includes('概要'))).toMatch(/^user: /);
    expect(last.filter((line) => line.includes('最初的问题'))).toHaveLength(1);
    expect(last.filter((line) => line.includes('look'))).toEqual([]);
    expect(last.at(-1)).toBe('user: 第三个问题');
    expect(await agent.messages()).toHaveLength(8);
  });

  test('a failed summary leaves messages out; the event and the warnings of the result have the error', async () => {
    const long = '很长的回答。'.repeat(200);
    const { agent } = alibaba([long, '短'], {
      use: [
        summarization({
          maxTokens: 300,
          summaryTokens: 50,
          keep: 1,
          model: new ScriptedModel([{ error: new Error('没有概要') }]),
          onError: () => {},
        }),
      ],
    });
    await agent.call('一');

    const stream = agent.stream('二');
    const errors: unknown[] = [];
    for await (const event of stream) if (event.type === 'context-fitted') errors.push(event.error);
    const { text, warnings } = await stream.result;

    expect(text).toBe('短');
    expect(errors).toEqual([
      expect.objectContaining({ message: expect.stringContaining('没有概要') }),
    ]);
    expect(warnings).toEqual(errors);
  });

  test('clearing keeps the newest results, excluded tools and every tool call', async () => {
    const round = (name: string) => ({ toolCalls: [{ name }] });
    const big = 'x'.repeat(400);
    const { model, agent } = alibaba(
      [round('look'), round('plan'), round('look'), round('look'), 'ok'],
      {
        tools: [noting([], 'look', { run: () => big }), noting([], 'plan', { run: () => big })],
        use: [clearToolResults({ above: 50, keep: 1, clearAtLeast: 0, exclude: ['plan'] })],
      },
    );

    await agent.call('q');

    const outputs = resultsIn(model.requests[4]!.messages).map(({ output }) => output);
    expect(outputs).toEqual(['[cleared]', big, '[cleared]', big]);
    expect(resultsIn(await agent.messages()).every(({ output }) => output === big)).toBe(true);
  });

  test('personal data in the input is replaced before hooks, template and model see it', async () => {
    const seen: string[] = [];
    const { model, agent } = alibaba(['好 bob@example.com'], {
      systemPrompt: '{input}',
      use: [piiGuard()],
      preset: {
        hooks: [{ name: 'h', beforeAgent: ({ input }) => void seen.push(...lines(input)) }],
      },
    });

    const { text } = await agent.call('写信给ann@example.com。');

    expect(seen).toEqual(['user: 写信给[EMAIL]。']);
    expect(sent(model.requests[0])).toEqual(['system: 写信给[EMAIL]。', 'user: 写信给[EMAIL]。']);
    expect(text).toBe('好 bob@example.com');
  });

  test('a run that continues after an approval continues the count of its model calls', async () => {
    const log: string[] = [];
    const { model, agent } = alibaba([calls('pay'), calls('look')], {
      tools: [noting(log, 'pay'), noting(log, 'look')],
      use: [humanInTheLoop({ approvalOn: { pay: true } }), modelCallLimit({ run: 2 })],
    });
    await agent.call('q');

    const { reason } = await agent.call([{ toolUseId: 'pay-id', type: 'approve' }]);

    expect([reason, log]).toEqual(['limit', ['pay', 'look']]);
    model.assertDone();
  });

  test('a typed value needs no approval, and a direct tool does not replace it', async () => {
    const log: string[] = [];
    const value = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
    const { model, agent } = alibaba([calls('look'), value], {
      tools: [noting(log, 'look', { returnDirect: true })],
      use: [humanInTheLoop({ approvalOn: { '*': true, look: false } })],
    });

    const { reason, output } = await agent.call('q', {
      output: structured(z.object({ n: z.number() })),
    });

    expect([reason, output, log]).toEqual(['stop', { n: 1 }, ['look']]);
    model.assertDone();
  });
});
