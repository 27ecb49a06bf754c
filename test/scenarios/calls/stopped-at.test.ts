import { expect, test } from 'vitest';
import type { AgentResult, Hooks } from '@isoloop/core';
import type { HookControls } from '@isoloop/core/event';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { look } from '../../support/plain-tools.ts';

async function call(on: Hooks, iterations = 10): Promise<AgentResult> {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'done'], {
    tools: [look],
    use: [{ on }],
    limits: { iterations },
  });
  const result = await agent.call('go');
  return result;
}

const events = [
  'pre-call',
  'pre-reasoning',
  'post-reasoning',
  'pre-acting',
  'post-acting',
] as const;

test.for(events)('the result’s `stoppedAt` reports stop() at %s', async (at) => {
  const result = await call({ [at]: ({ stop }: { stop(): void }) => stop() });
  expect(result).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: at });
});

test('the result’s `stoppedAt` reports stop() at pre-summary', async () => {
  const result = await call({ 'pre-summary': ({ stop }) => stop() }, 1);
  expect(result).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: 'pre-summary' });
});

test.for(['post-reasoning', 'post-acting'] as const)(
  "`stoppedAt` reports jumpTo('end') at %s with or without an answer, unless the jump gives another reason",
  async (at) => {
    expect(await call({ [at]: ({ jumpTo }: Jumping) => jumpTo('end') })).toMatchObject({
      reason: 'stopped-by-hook',
      stoppedAt: at,
    });
    const answered = await call({
      [at]: ({ jumpTo }: Jumping) => jumpTo('end', 'x'),
    });
    expect(answered).toMatchObject({ reason: 'stopped-by-hook', stoppedAt: at, text: 'x' });
    const other = await call({
      [at]: ({ jumpTo }: Jumping) => jumpTo('end', 'x', 'stop'),
    });
    expect(other.reason).toBe('stop');
    expect(other).not.toHaveProperty('stoppedAt');
  },
);

type Jumping = Pick<HookControls, 'jumpTo'>;

test('`stoppedAt` names the event of the stop that ended the call, and is absent after other ends', async () => {
  const both = await call({
    'post-acting': (event) => {
      event.gotoReasoning([]);
      event.stop();
    },
  });
  expect(both.stoppedAt).toBe('post-acting');
  expect(await call({})).not.toHaveProperty('stoppedAt');
});

test('the run-end event has `stoppedAt`, and a resumed call reports its own value', async () => {
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'done'], { tools: [look] });
  const off = agent.addHook({ on: { 'post-reasoning': ({ stop }) => stop() } });
  const ends: (string | undefined)[] = [];
  agent.addHook({ on: { 'run-end': ({ result }) => void ends.push(result.stoppedAt) } });
  await agent.call('go');
  off();
  const acting = agent.addHook({ on: { 'post-acting': ({ stop }) => stop() } });
  await agent.call();
  acting();
  expect((await agent.call()).text).toBe('done');
  expect(ends).toEqual(['post-reasoning', 'post-acting', undefined]);
});
