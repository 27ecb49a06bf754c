import { ReActAgent, textOf, userMessage, type Middleware } from '@isoloop/core';
import { inputGuard, piiGuard } from '@isoloop/guards';
import { arcReactor } from '@isoloop/presets';
import { retrieval } from '@isoloop/recall';
import { ScriptedModel } from '@isoloop/core/testing';
import { selectTools } from '@isoloop/core/selection';
import { describe, expect, test } from 'vitest';
import { calls, linesOf, make, named, resultsIn, returned } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('the stages of a call', () => {
  const spies = (log: string[], ...guards: readonly Middleware[]): Middleware[] => [
    inputGuard('spy', (input) => (log.push('guard'), input)),
    ...guards,
    { on: { 'run-end': () => void log.push('end'), 'pre-call': () => void log.push('hook') } },
    retrieval({
      retriever: {
        async retrieve(query) {
          log.push(`retrieval of ${query}`);
          return [];
        },
      },
    }),
    selectTools({
      by(question) {
        log.push(`selection for ${question}`);
        return ['look'];
      },
    }),
  ];

  test('run in the order of the document, streaming or not', async () => {
    for (const streaming of [false, true]) {
      const log: string[] = [];
      const { agent } = make([() => (log.push('request'), 'Done.')], {
        tools: [named('look')],
        use: spies(log),
      });
      await (streaming ? agent.stream('Tea?').result : agent.call('Tea?'));
      expect(log).toEqual([
        'guard',
        'hook',
        'selection for Tea?',
        'retrieval of Tea?',
        'request',
        'end',
      ]);
    }
  });

  test('stop at a guard: no hook before the start, no search, no request', async () => {
    const log: string[] = [];
    const { agent, model } = make([], {
      use: spies(
        log,
        inputGuard('shut', () => ({ category: 'OFF_TOPIC' })),
      ),
    });
    const { reason, error } = await agent.call('Tea?');
    expect([reason, error?.code]).toEqual(['rejected', 'GUARD_REJECTED']);
    expect(log).toEqual(['guard', 'end']);
    expect(model.requests).toEqual([]);
  });

  test('stop at a hook before the start, and the next call works', async () => {
    const log: string[] = [];
    const { agent, model } = make(['Hello.'], {
      use: [
        ...spies(log),
        {
          on: {
            'pre-call'({ input, reject }) {
              if (textOf(input[0]!) === 'Tea?') reject('No tea today.');
            },
          },
        },
      ],
    });
    const { reason, error, text } = await agent.call('Tea?');
    expect([reason, error?.code, text]).toEqual(['rejected', 'HOOK_REJECTED', 'No tea today.']);
    expect(log).toEqual(['guard', 'hook', 'end']);
    log.length = 0;
    await agent.call('Hi');
    expect(linesOf(model.requests[0])).toEqual(['user: Hi']);
  });

  test('give every later stage the input that a guard and a hook have changed', async () => {
    const log: string[] = [];
    const { agent, model } = make(['Done.', 'Done.'], {
      tools: [named('look')],
      use: [
        ...spies(log, piiGuard()),
        {
          on: {
            'pre-call': (event) => ({
              ...event,
              input: event.input.map((message) =>
                userMessage(`${textOf(message)} Please.`, { id: message.id }),
              ),
            }),
          },
        },
      ],
    });
    await agent.call('Write to ann@example.com.');
    await agent.call('Again.');
    const changed = 'Write to [EMAIL]. Please.';
    expect(log).toContain(`retrieval of ${changed}`);
    expect(log).toContain(`selection for ${changed}`);
    expect(linesOf(model.requests[1])).toEqual([
      `user: ${changed}`,
      'assistant: Done.',
      'user: Again. Please.',
    ]);
  });

  test('continue after hooks that fail before the start, before and after a tool', async () => {
    const fail = (): never => {
      throw new Error('The hook is broken.');
    };
    const { agent, model } = make([calls('look'), 'Done.'], {
      tools: [named('look')],
      use: [{ on: { 'pre-call': fail, 'pre-acting': fail, 'post-acting': fail, 'run-end': fail } }],
    });
    expect((await agent.call('Look.')).text).toBe('Done.');
    expect(resultsIn(model.requests[1])).toEqual(['look done']);
  });

  test('end before the request if a hook before the start must not fail', async () => {
    const { agent, model } = make(['Hello.'], {});
    const remove = agent.addHook({
      onError: 'fail',
      on: {
        'pre-call'() {
          throw new Error('No budget.');
        },
      },
    });
    const { error } = await agent.call('Look.', returned);
    expect([error?.code, model.requests.length]).toEqual(['HOOK_ERROR', 0]);
    remove();
    await agent.call('Hi');
    expect(linesOf(model.requests[0])).toEqual(['user: Hi']);
  });

  test('all count toward the time limit', async () => {
    const clock = fakeClock();
    const { agent, model } = make([], {
      use: [{ on: { 'pre-call': () => new Promise(() => {}) } }],
    });
    const called = agent.call('Hi', returned);
    await clock.advance(29_999);
    expect(agent.busy).toBe(true);
    // The hook gets one turn of the event loop to end.
    await clock.advance(2);
    expect((await called).error?.code).toBe('CALL_TIMEOUT');
    expect(model.requests).toEqual([]);
  });

  test('limit the calls of a user over all agents of a preset, in windows of a minute', async () => {
    const clock = fakeClock();
    const use = [arcReactor()];
    const ask = async (userId?: string): Promise<string | undefined> => {
      const model = new ScriptedModel(['Done.']);
      const agent = new ReActAgent({ name: 'assistant', model, ...(userId && { userId }), use });
      return (await agent.stream('Hi', returned).result).error?.code;
    };
    for (let at = 0; at < 10; at += 1) expect(await ask()).toBeUndefined();
    expect(await ask()).toBe('GUARD_REJECTED');
    expect(await ask('bob')).toBeUndefined();
    await clock.advance(59_999);
    expect(await ask()).toBe('GUARD_REJECTED');
    await clock.advance(1);
    expect(await ask()).toBeUndefined();
  });

  test.each([
    ['가'.repeat(5000), undefined],
    [` \n${'가'.repeat(5000)}\n `, undefined],
    ['가'.repeat(5001), 'INVALID_INPUT'],
  ])('limit the length of an input: %#', async (input, category) => {
    const { agent } = make(['Done.']);
    const { error } = await agent.call(input, returned);
    expect(error?.details?.['category']).toBe(category);
  });
});
