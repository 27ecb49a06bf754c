import { expect, test } from 'vitest';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { toolResultsOf } from '../message/msg.ts';
import { longTermMemory } from '@isoloop/recall';
import { saveState } from '../state/agent-state.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import { type EventType, lookingAgent, controlsIn, asking } from '@test/support/asking-hook.ts';

test('a rejection without a reason has a default text', async () => {
  for (const type of ['run-start', 'pre-call'] as const) {
    const result = await lookingAgent([asking(type, 'reject', [])]).agent.call('go');
    expect(result).toMatchObject({
      reason: 'rejected',
      text: 'A hook rejected the call.',
      error: { code: 'HOOK_REJECTED', message: 'A hook rejected the call.' },
    });
  }
  const { agent } = lookingAgent([asking('pre-acting', 'reject', [])]);
  await agent.call('go');
  const denied = (await agent.messages()).flatMap(toolResultsOf)[0];
  expect(denied).toMatchObject({ state: 'denied', output: 'Tool call rejected: no reason given' });
});

test('if a hook rejects twice, the first rejection counts', async () => {
  const twice = (type: EventType): Middleware => ({
    on: {
      '*'(event) {
        if (event.type !== type) return;
        controlsIn(event).reject('First.');
        controlsIn(event).reject('Second.');
      },
    },
  });
  for (const type of ['run-start', 'pre-call'] as const)
    expect((await lookingAgent([twice(type)]).agent.call('go')).text).toBe('First.');
  const { agent } = lookingAgent([twice('pre-acting')]);
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)[0]).toMatchObject({
    output: 'Tool call rejected: First.',
  });
});

test('a rejection takes precedence over a stop at `pre-call`, and a stop takes precedence at `pre-acting`', async () => {
  const both = (type: EventType): Middleware => ({
    on: {
      '*'(event) {
        if (event.type !== type) return;
        controlsIn(event).stop();
        controlsIn(event).reject('No.');
      },
    },
  });
  const refused = lookingAgent([both('pre-call')]);
  expect((await refused.agent.call('go')).reason).toBe('rejected');
  expect(await refused.agent.messages()).toEqual([]);
  const stopped = lookingAgent([both('pre-acting')]);
  expect((await stopped.agent.call('go')).reason).toBe('stopped-by-hook');
  expect(stopped.ran).toEqual([]);
});

test('rejected content is stored neither in the session nor in the state nor in long-term memory', async () => {
  for (const type of ['run-start', 'pre-call'] as const) {
    const store = new MemoryStore();
    const facts: string[] = [];
    const known = longTermMemory({
      mode: 'auto',
      memory: {
        retrieve: async () => [],
        record: async (messages) => void facts.push(JSON.stringify(messages)),
        delete: async () => {},
        deleteSession: async () => {},
        clear: async () => {},
      },
    });
    const { agent } = scriptedAgent([], {
      memory: new SessionMemory(store, 's'),
      use: [known, asking(type, 'reject')],
    });
    await agent.call('the secret');
    expect(await store.keys('')).toEqual([]);
    expect(facts).toEqual([]);
    expect(JSON.stringify(await saveState(agent))).not.toContain('secret');
  }
});

test.for(['run-start', 'pre-call'] as const)(
  'a rejection at %s returns its reason as the answer, and nothing is stored',
  async (type) => {
    const { agent } = lookingAgent([asking(type, 'reject')]);
    expect(await agent.call('go')).toMatchObject({
      reason: 'rejected',
      text: 'No.',
      error: { code: 'HOOK_REJECTED', message: 'No.' },
    });
    expect(await agent.messages()).toEqual([]);
    expect((await agent.call('again')).reason).toBe('max-iterations');
  },
);

test('hooks after a hook that rejects the call do not run', async () => {
  const asked: string[] = [];
  const { agent } = lookingAgent([
    asking('pre-call', 'reject'),
    { on: { 'pre-call': () => void asked.push('second') } },
  ]);
  await agent.call('go');
  expect(asked).toEqual([]);
});
