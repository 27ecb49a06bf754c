import { expect, test } from 'vitest';
import { historyFaults } from '@test/support/history-faults.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { calls } from '@test/support/scripted-agent.ts';
import { modelRequestLimit } from './model-request-limit.ts';
import type { Middleware } from '../agent/middleware.ts';
import { ranTools, limitedAgent, checkedRun } from '@test/support/limited-agent.ts';

test('modelRequestLimit({ run }) ends the run before a request beyond the limit, and counts each run separately', async () => {
  const { agent, model } = limitedAgent(
    [calls('add'), calls('add'), 'Done.'],
    [modelRequestLimit({ run: 2 })],
  );
  expect(await checkedRun(agent)).toMatchObject({
    reason: 'limit',
    text: 'The limit of model requests is reached: 2 of 2 used in this run.',
  });
  expect(model.requests).toHaveLength(2);
  expect(await checkedRun(agent)).toMatchObject({ reason: 'stop', text: 'Done.' });
});

test('an answer in the last allowed request ends the run normally', async () => {
  const { agent } = limitedAgent([calls('add'), 'Done.'], [modelRequestLimit({ run: 2 })]);
  expect(await checkedRun(agent)).toMatchObject({ reason: 'stop' });
});

test('modelRequestLimit({ session }) counts across runs, also after a saved state is loaded', async () => {
  const limit = () => [modelRequestLimit({ session: 2, text: 'Come back tomorrow.' })];
  const first = limitedAgent(['One.'], limit());
  await checkedRun(first.agent);
  const { agent, model } = limitedAgent(['Two.', 'Three.'], limit());
  await loadState(agent, JSON.parse(JSON.stringify(await saveState(first.agent))));
  expect((await checkedRun(agent)).text).toBe('Two.');
  expect(await checkedRun(agent)).toMatchObject({ reason: 'limit', text: 'Come back tomorrow.' });
  expect(await checkedRun(agent)).toMatchObject({ reason: 'limit' });
  expect(model.requests).toHaveLength(1);
});

test('two limits of model requests count each request once', async () => {
  const session = { ...modelRequestLimit({ session: 3, atLimit: 'fail' }), name: 'sessionLimit' };
  const both = [modelRequestLimit({ run: 2 }), session];
  const { agent, model } = limitedAgent([calls('add'), calls('add'), calls('add')], both);
  expect(await checkedRun(agent)).toMatchObject({ reason: 'limit' });
  // The request that the first limit prevented does not count, so one request is left.
  await expect(agent.call('again')).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    details: { session: 3, run: 1 },
  });
  expect(model.requests).toHaveLength(3);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a run that resumes after a suspension keeps its count', async () => {
  const { agent } = limitedAgent(
    [calls('ask'), calls('add'), 'Done.'],
    [modelRequestLimit({ run: 2 })],
  );
  expect((await checkedRun(agent)).reason).toBe('suspended');
  expect(await checkedRun(agent, [{ toolUseId: 'call_1', type: 'approve' }])).toMatchObject({
    reason: 'limit',
  });
  expect(ranTools).toEqual(['ask', 'add']);
});

test('agents that share a limit have separate counts', async () => {
  const limit = modelRequestLimit({ session: 1 });
  const [one, two] = [limitedAgent(['A.'], [limit]).agent, limitedAgent(['B.'], [limit]).agent];
  expect((await Promise.all([checkedRun(one), checkedRun(two)])).map(({ text }) => text)).toEqual([
    'A.',
    'B.',
  ]);
});

test('a request that modelRequestLimit() refuses does not reach the middleware after it', async () => {
  let prepared = 0;
  const after: Middleware = {
    wrapRequest: (draft, next) => {
      prepared += 1;
      return next(draft);
    },
  };
  const { agent } = limitedAgent([calls('add'), 'never'], [modelRequestLimit({ run: 1 }), after]);
  const result = await checkedRun(agent);
  expect(result).toMatchObject({ reason: 'limit', message: { metadata: { reason: 'limit' } } });
  expect([prepared, result.iterations]).toEqual([1, 1]);
});
