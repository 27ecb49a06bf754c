import {
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  textOf,
  type AgentEvent,
  type ModelRequest,
  type Run,
} from '@isoloop/core';
import { outputGuards, regexRule } from '@isoloop/guards';
import { textStream } from '@isoloop/core/stream';
import { describe, expect, test } from 'vitest';
import { eventsOf } from '../test-support.ts';
import { calls, failing, linesOf, make, named, returned, textsOf, turns } from './test-support.ts';

describe('the history', () => {
  test('has only questions and last texts, in memory and in a session', async () => {
    const store = new MemoryStore();
    const seen = [];
    for (const memory of [undefined, new SessionMemory(store, 's')]) {
      const { agent, model } = make(
        [{ text: 'Let me look.', ...calls('look') }, 'Found it.', failing('Strange'), 'Hello.'],
        { tools: [named('look')], sessionId: 's', ...(memory && { memory }) },
      );
      await eventsOf(agent.stream('Look.'));
      await agent.call('Fail.', returned);
      await agent.call('Hi');
      seen.push(linesOf(model.requests[3]));
    }
    expect(seen[0]).toEqual(['user: Look.', 'assistant: Found it.', 'user: Hi']);
    expect(seen[1]).toEqual(seen[0]);
    const next = make(['Again.'], { sessionId: 's', memory: new SessionMemory(store, 's') });
    await next.agent.call('And now?');
    expect(linesOf(next.model.requests[0])).toEqual([
      'user: Look.',
      'assistant: Found it.',
      'user: Hi',
      'assistant: Hello.',
      'user: And now?',
    ]);
  });

  test('has the last ten turns', async () => {
    const shown = async (count: number): Promise<readonly string[]> => {
      const { agent, model } = make(['Done.'], { memory: new InMemoryMemory(turns(count)) });
      await agent.call('Hi');
      return linesOf(model.requests[0]);
    };
    expect(await shown(10)).toHaveLength(21);
    const eleven = await shown(11);
    expect(eleven).toHaveLength(21);
    expect(eleven[0]).toBe('user: question 2');
  });

  test('has no stream that broke or that its reader left', async () => {
    const { agent, model } = make([
      { text: 'Half an ', ...failing('503') },
      'A whole answer.',
      'Hello.',
    ]);
    const broken = agent.stream('Break.', returned);
    await eventsOf(broken);
    for await (const { type } of agent.stream('Leave.')) if (type === 'reasoning-chunk') break;
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: Hi']);
  });

  test.each(['pre-call', 'pre-reasoning', 'post-reasoning', 'pre-acting', 'post-acting'] as const)(
    'has no turn that was interrupted at %s',
    async (type) => {
      const { agent, model } = make(
        Array.from(
          { length: 3 },
          () =>
            ({ messages }: ModelRequest) =>
              textOf(messages.at(-1)!) === 'Look.' ? calls('look') : 'Hello.',
        ),
        { tools: [named('look')] },
      );
      const remove = agent.addHook({
        on: {
          [type]: (_event: AgentEvent, run: Run) => void run.ending.interrupt(),
        },
      });
      expect((await agent.call('Look.')).reason).toBe('interrupted');
      remove();
      await agent.call('Hi');
      expect(linesOf(model.requests.at(-1))).toEqual(['user: Hi']);
    },
  );

  test('has no answer that a guard refused', async () => {
    const { agent, model } = make(['The code is 1234.', 'Hello.'], {
      use: [outputGuards([regexRule({ pattern: /\d{4}/u, action: 'reject' })])],
    });
    expect((await agent.call('The code?')).reason).toBe('rejected');
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });

  test('streams every text of the turn, and has only the last one', async () => {
    const { agent, model } = make(
      [{ text: 'Let me look.', ...calls('look') }, 'Found it.', 'Hello.'],
      { tools: [named('look')] },
    );
    const said = await textsOf(textStream(agent.stream('Look.')));
    expect(said).toBe('Let me look.\n\nFound it.');
    await agent.call('Hi');
    expect(linesOf(model.requests[2])[1]).toBe('assistant: Found it.');
  });
});
