import {
  assistantMessage,
  InMemoryMemory,
  userMessage,
  type AgentError,
  type JsonValue,
  type Middleware,
} from '@isoloop/core';
import { jsonMode } from '@isoloop/core/output';
import { retrieval } from '@isoloop/recall';
import { byCategory, selectTools } from '@isoloop/core/selection';
import { describe, expect, test } from 'vitest';
import { systemOf } from '../test-support.ts';
import {
  calls,
  latin,
  linesOf,
  make,
  named,
  offeredIn,
  resultsIn,
  trimTo,
} from './test-support.ts';

describe('the system prompt', () => {
  const documents = retrieval({
    retriever: {
      retrieve: async () => [
        { id: 'close', content: 'Tea is a plant.', score: 0.7 },
        { id: 'far', content: 'Coffee is a bean.', score: 0.69 },
      ],
    },
  });

  test('is one message: prompt, documents, format, in every request of the call', async () => {
    const { agent, model } = make([calls('look'), '{"plant": true}'], {
      systemPrompt: 'You know plants.',
      tools: [named('look')],
      use: [documents],
    });
    const { output } = await agent.call('Tea?', { output: jsonMode() });
    expect(output).toEqual({ plant: true });
    for (const request of model.requests) {
      const [prompt, ...more] = systemOf(request);
      expect(more).toEqual([]);
      expect(prompt).toMatch(/^You know plants\.\n\n[^]*Tea is a plant\.[^]*\n\n[^]*JSON/u);
      expect(prompt).not.toContain('Coffee');
    }
  });

  test('has only the parts that there are', async () => {
    const bare = make(['Done.'], { systemPrompt: 'You know plants.' });
    await bare.agent.call('Tea?');
    expect(systemOf(bare.model.requests[0])).toEqual(['You know plants.']);
    const found = make(['Done.'], { use: [documents] });
    await found.agent.call('Tea?');
    expect(systemOf(found.model.requests[0])).toEqual([expect.stringContaining('Tea is a plant.')]);
  });

  test('has no documents if the search fails, and the call continues', async () => {
    const errors: AgentError[] = [];
    const { agent, model } = make(['Done.'], {
      systemPrompt: 'You know plants.',
      use: [
        retrieval({
          retriever: { retrieve: () => Promise.reject(new Error('No index.')) },
          onError: (error) => errors.push(error),
        }),
      ],
    });
    expect((await agent.call('Tea?')).text).toBe('Done.');
    expect(errors).toHaveLength(1);
    expect(systemOf(model.requests[0])).toEqual(['You know plants.']);
  });

  test('takes its documents from the budget of the history', async () => {
    const history = [userMessage(latin(30)), assistantMessage(latin(30))];
    const shown = async (use: readonly Middleware[]): Promise<number> => {
      const { agent, model } = make(['Done.'], {
        memory: new InMemoryMemory(history),
        use: [...use, trimTo(70)],
      });
      await agent.call(latin(10));
      return linesOf(model.requests[0]).length;
    };
    expect([await shown([]), await shown([documents])]).toEqual([3, 1]);
  });
});

describe('the tools of a request', () => {
  const mail = byCategory([{ keywords: ['메일'], tools: ['send_*'] }]);

  test('are the local ones, then those that fit the prompt, up to the limit', async () => {
    const { agent, model } = make([calls('clock'), 'Done.'], {
      tools: ['plan', 'send_mail', 'send_fax', 'clock'].map((name) => named(name)),
      use: [selectTools({ by: mail, alwaysOffer: ['clock'], maxTools: 3 })],
    });
    await agent.call('안나에게 메일을 보내 줘');
    const offered = offeredIn(model.requests[0]);
    expect(offered[0]).toBe('clock');
    expect(offered).toHaveLength(3);
    expect(offeredIn(model.requests[1])).toEqual(offered);
  });

  test('that the selection left out do not run if the model calls them', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('delete_all'), 'Done.'], {
      tools: [named('send_mail'), named('delete_all', ran)],
      use: [selectTools({ by: () => ['send_mail'] })],
    });
    const { toolsUsed } = await agent.call('Mail');
    expect([ran, toolsUsed]).toEqual([[], []]);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: .*delete_all/u);
  });

  test('are all of them if the selection fails', async () => {
    const errors: string[] = [];
    const { agent, model } = make(['Done.'], {
      tools: [named('send_mail'), named('plan')],
      use: [
        selectTools({
          by() {
            throw new Error('No vectors.');
          },
          onError: ({ message }) => errors.push(message),
        }),
      ],
    });
    await agent.call('Mail');
    expect(offeredIn(model.requests[0])).toEqual(['send_mail', 'plan']);
    expect(errors).toHaveLength(1);
  });

  test('are none if the call allows none; calls in the reply are then dropped', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([{ text: 'Just text.', ...calls('look') }, 'Hello.'], {
      tools: [named('look', ran)],
    });
    const { text, toolsUsed } = await agent.call('Look.', { allowTools: [] });
    expect([text, toolsUsed, ran]).toEqual(['Just text.', [], []]);
    await agent.call('Hi');
    expect(linesOf(model.requests[1])[1]).toBe('assistant: Just text.');
  });
});
