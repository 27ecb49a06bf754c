import { assistantMessage, systemMessage, userMessage, type Middleware } from '@isoloop/core';
import { fallback, retry } from '@isoloop/core/resilience';
import { withStream } from '@isoloop/core/model';
import { replaceKey, stateKeys } from '@isoloop/core/state';
import { ScriptedModel } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { alibaba, lines, noting, notingHook, sent } from './test-support.ts';

/** Creates a model interceptor that records when a request enters and when its reply leaves. */
const notingModel = (log: string[], name: string): Middleware => ({
  wrapModel: (next) =>
    withStream(next, async function* (request, context) {
      log.push(`${name} in`);
      yield* next.stream(request, context);
      log.push(`${name} out`);
    }),
});

describe('the model node', () => {
  test('the template gets the input, state and variables once, and values are not rendered again', async () => {
    const state = stateKeys({ city: replaceKey('首尔'), empty: replaceKey<string>() });
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
    const state = stateKeys({ input: replaceKey('from state'), city: replaceKey('from state') });
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
      { answer: replaceKey<string>(), shop: replaceKey({ 名: ['서울'] }) },
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
