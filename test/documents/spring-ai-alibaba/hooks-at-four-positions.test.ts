import {
  assistantMessage,
  textOf,
  toolUsesOf,
  userMessage,
  type ModelRequest,
} from '@isoloop/core';
import { positionHooks, springAiAlibaba, type PositionHook } from '@isoloop/presets';
import type { ScriptedStep } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import {
  alibaba,
  calls,
  lineOf,
  lines,
  noting,
  notingHook,
  resultsIn,
  sent,
  toolUse,
} from './test-support.ts';

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
      beforeModel({ jumpTo }) {
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
            afterModel({ message, jumpTo }) {
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
            beforeModel({ messages, jumpTo }) {
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
          notingHook(log, 'B', { beforeAgent: ({ reject }) => reject('不行') }),
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
            beforeAgent: ({ jumpTo }) => jumpTo('tools', assistantMessage([toolUse('look')])),
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
            beforeModel({ messages, jumpTo }) {
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
