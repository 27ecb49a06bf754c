import { outputText, tool, type AgentHook, type JsonValue, type Tool } from '@isoloop/core';
import { approvals } from '@isoloop/core/approval';
import { metrics } from '@isoloop/core/observe';
import { describe, expect, test } from 'vitest';
import { calls, linesOf, make, named, offeredIn, resultsIn } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('tool calls of one reply', () => {
  test('run at the same time, and the model reads the results in their order', async () => {
    const open = new Map<string, () => void>();
    const waiting = (name: string): Tool =>
      tool({
        name,
        description: name,
        input: {},
        execute: () => new Promise<string>((resolve) => open.set(name, () => resolve(name))),
      });
    const { agent, model } = make([calls('one', 'two', 'three'), 'Done.'], {
      tools: ['one', 'two', 'three'].map(waiting),
    });
    const called = agent.call('All three.');
    await expect.poll(() => open.size).toBe(3);
    for (const name of ['three', 'one', 'two']) open.get(name)?.();
    const { toolsUsed } = await called;
    expect(resultsIn(model.requests[1])).toEqual(['one', 'two', 'three']);
    expect(toolsUsed).toEqual(['one', 'two', 'three']);
  });

  test('show the model the same one after the other as at the same time', async () => {
    const seen = [];
    for (const parallelTools of [1, Infinity]) {
      const { agent, model } = make([calls('look', 'fly', 'send'), 'Done.'], {
        tools: [named('look'), named('send')],
        limits: { parallelTools },
      });
      await agent.call('Go.');
      seen.push(linesOf(model.requests[1]));
    }
    expect(seen[0]).toEqual(seen[1]);
  });

  test('do not depend on each other: one that throws leaves the others alone', async () => {
    const broken = tool({
      name: 'broken',
      description: 'Fails',
      input: {},
      execute: () => {
        throw new Error('No paper.');
      },
    });
    const { agent, model } = make([calls('broken', 'look'), 'Done.'], {
      tools: [broken, named('look')],
    });
    const { toolsUsed } = await agent.call('Print.');
    expect(resultsIn(model.requests[1])).toEqual(['Error: No paper.', 'look done']);
    expect(toolsUsed).toEqual(['broken', 'look']);
  });

  test('skip only the call that a hook rejects, which is not a tool used', async () => {
    const ran: JsonValue[] = [];
    const careful: AgentHook = {
      on: {
        'pre-acting'({ toolUse, reject }) {
          if (toolUse.name === 'send') reject('Nobody is awake.');
        },
      },
    };
    const { agent, model } = make([calls('send', 'look'), 'Done.'], {
      tools: [named('send', ran), named('look')],
      use: [careful],
    });
    const { toolsUsed } = await agent.call('Send it.');
    expect(ran).toEqual([]);
    const [sent, looked] = resultsIn(model.requests[1]);
    expect(sent).toContain('Nobody is awake.');
    expect(looked).toBe('look done');
    expect(toolsUsed).toEqual(['look']);
  });

  test('reach the tool as the hooks before it left them, by their order', async () => {
    const ran: JsonValue[] = [];
    const add = (priority: number, change: (at: number) => number): AgentHook => ({
      on: {
        'pre-acting': {
          priority,
          handle(event) {
            const { at } = event.toolUse.input as { readonly at: number };
            return { ...event, toolUse: { ...event.toolUse, input: { at: change(at) } } };
          },
        },
      },
    });
    const { agent } = make([{ toolCalls: [{ name: 'look', input: { at: 1 } }] }, 'Done.'], {
      tools: [named('look', ran)],
      use: [add(2, (at) => at * 10), add(1, (at) => at + 1)],
    });
    await agent.call('Look.');
    expect(ran).toEqual([{ at: 20 }]);
  });

  test('show the model and later hooks what a hook after the tool made of the result', async () => {
    const seen: string[] = [];
    const shorten: AgentHook = {
      on: {
        'post-acting': (event) => ({
          ...event,
          result: { ...event.result, output: `${event.toolUse.name}: short` },
        }),
      },
    };
    const note: AgentHook = {
      on: {
        'post-acting': {
          priority: 200,
          handle: ({ result }) => void seen.push(outputText(result.output)),
        },
      },
    };
    const { agent, model } = make([calls('look', 'send'), 'Done.'], {
      tools: [named('look'), named('send')],
      use: [note, shorten],
    });
    await agent.call('Go.');
    expect(seen.toSorted()).toEqual(['look: short', 'send: short']);
    expect(resultsIn(model.requests[1])).toEqual(['look: short', 'send: short']);
  });

  test('of unknown tools tell the model so, and only tools that exist are used', async () => {
    const { agent, model } = make([calls('fly', 'look'), 'Done.'], { tools: [named('look')] });
    const { toolsUsed } = await agent.call('Fly.');
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: .*not found.*fly/iu);
    expect(toolsUsed).toEqual(['look']);
  });

  test('give an empty text if the tool returns nothing', async () => {
    const quiet = tool({ name: 'quiet', description: 'Nothing', input: {}, execute() {} });
    const { agent, model } = make([calls('quiet'), 'Done.'], { tools: [quiet] });
    await agent.call('Hush.');
    expect(resultsIn(model.requests[1])).toEqual(['']);
  });

  test('end at the limit of their own tool, not at that of a slower one beside them', async () => {
    const clock = fakeClock();
    const hanging = (name: string, timeoutMs?: number): Tool =>
      tool({
        name,
        description: name,
        input: {},
        ...(timeoutMs && { timeoutMs }),
        execute: () => new Promise(() => {}),
      });
    const { agent, model } = make([calls('slow', 'fast', 'usual'), 'Done.'], {
      tools: [hanging('slow', 20_000), hanging('fast', 50), hanging('usual')],
    });
    const ended: string[] = [];
    agent.addHook({ on: { 'post-acting': ({ toolUse }) => void ended.push(toolUse.name) } });
    const called = agent.call('Wait.');
    await clock.advance(14_999);
    expect(ended).toEqual(['fast']);
    await clock.advance(1);
    expect(ended).toEqual(['fast', 'usual']);
    await clock.advance(5_000);
    await called;
    expect(resultsIn(model.requests[1]).map((result) => /\d+/u.exec(result)?.[0])).toEqual([
      '20000',
      '50',
      '15000',
    ]);
  });

  test('with arguments that are not JSON do not run and get an error', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make(
      [{ toolCalls: [{ name: 'look', input: '{"at": ' }, { name: 'look' }] }, 'Done.'],
      { tools: [named('look', ran)] },
    );
    await agent.call('Look.');
    expect(ran).toEqual([{}]);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: /u);
  });

  test('meet the hook before the person: a rejected call asks nobody', async () => {
    const asked: string[] = [];
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('send', 'look', 'pay'), 'Done.'], {
      tools: [named('send', ran), named('look', ran), named('pay', ran)],
      use: [
        {
          on: {
            'pre-acting'({ toolUse, reject }) {
              if (toolUse.name === 'send') reject('Closed.');
            },
          },
        },
        approvals({
          needsApproval: { send: true, pay: true },
          decide({ name }) {
            asked.push(name);
            return { type: 'reject', reason: 'Too dear.' };
          },
        }),
      ],
    });
    const { toolsUsed } = await agent.call('Go.');
    expect(asked).toEqual(['pay']);
    expect(toolsUsed).toEqual(['look']);
    const [sent, , paid] = resultsIn(model.requests[1]);
    expect(sent).toContain('Closed.');
    expect(paid).toContain('Too dear.');
  });

  test('that wait for a person are tools used once a person approves them', async () => {
    const ran: JsonValue[] = [];
    const { agent } = make([calls('pay', 'look'), 'Paid.', 'Hello.'], {
      tools: [named('pay', ran), named('look')],
      use: [approvals({ needsApproval: { pay: true } })],
    });
    const asked = await agent.call('Pay.');
    expect([asked.reason, asked.toolsUsed, ran]).toEqual(['suspended', ['look'], []]);
    const { text, toolsUsed } = await agent.call([
      { toolUseId: asked.pending[0]!.toolUseId, type: 'approve' },
    ]);
    expect([text, toolsUsed, ran]).toEqual(['Paid.', ['pay'], [{}]]);
  });

  test('outside the allowed tools of a call are refused and do not run', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('send', 'look'), 'Done.'], {
      tools: [named('send', ran), named('look')],
    });
    const { toolsUsed } = await agent.call('Go.', { allowTools: ['look'] });
    expect(model.requests.map(offeredIn)).toEqual([['look'], ['look']]);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: .*send/u);
    expect(toolsUsed).toEqual(['look']);
    expect(ran).toEqual([]);
  });

  test('are measured if a tool ran or is unknown, not if they were refused', async () => {
    const measured: string[] = [];
    const { agent } = make([calls('look', 'fly', 'send', 'look'), 'Done.'], {
      tools: [named('look'), named('send')],
      limits: { toolCalls: 3 },
      use: [
        metrics({ toolCall: ({ name, outcome }) => void measured.push(`${name} ${outcome}`) }),
        {
          on: {
            'pre-acting'({ toolUse, reject }) {
              if (toolUse.name === 'send') reject('No.');
            },
          },
        },
      ],
    });
    await agent.call('Go.');
    expect(measured.toSorted()).toEqual(['fly error', 'look success']);
  });
});
