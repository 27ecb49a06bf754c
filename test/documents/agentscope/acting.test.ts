import { MemoryStore, SessionMemory, toolResultsOf } from '@isoloop/core';
import { describe, expect, test } from 'vitest';
import { gate } from '../test-support.ts';
import { asks, named, record, setUp, shown } from './test-support.ts';

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
            'post-acting': async ({ stop }) => {
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
