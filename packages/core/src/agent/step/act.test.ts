import { expect, test } from 'vitest';
import { assistantMessage, toolResultsOf, type ToolUse } from '../../message/msg.ts';
import { tool, type Tool } from '../../tool/tool.ts';
import { gate } from '@test/support/scripted-agent.ts';
import { liveRun, openWith, type LiveRunOptions } from '@test/support/live-run.ts';
import { act } from './act.ts';

const callOf = (name: string): ToolUse => ({ type: 'tool_use', id: name, name, input: {} });
function named(name: string, execute?: Tool['execute']): Tool {
  const plain = tool({ name, description: name, input: { type: 'object' } });
  return execute ? { ...plain, execute } : plain;
}

async function runWith(tools: readonly Tool[], options: LiveRunOptions = {}) {
  const approvals = { name: 'approvals', on: {} };
  const tested = liveRun({ tools, ...options, use: [approvals, ...(options.use ?? [])] });
  await openWith(tested.live, assistantMessage(tools.map(({ name }) => callOf(name))));
  const results = () => tested.live.log.messages.flatMap(toolResultsOf);
  return { ...tested, results };
}

test('tools run at the same time, their results are stored as they arrive, and the model comes next', async () => {
  const { wait, open } = gate();
  const slow = named('slow', async () => {
    await wait;
    return 'slow';
  });
  const fast = named('fast', () => {
    open();
    return 'fast';
  });
  const { live, results } = await runWith([slow, fast]);
  expect(await act(live)).toEqual({ to: 'model' });
  expect(
    results()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['fast', 'slow']);
});

test('`parallelTools` of the round wins over that of the agent', async () => {
  let running = 0;
  let most = 0;
  const counted = (name: string): Tool =>
    named(name, async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return name;
    });
  const { live } = await runWith([counted('a'), counted('b'), counted('c')], {
    limits: { parallelTools: 3 },
    use: [{ wrapRound: (round, next) => next({ ...round, parallelTools: 1 }) }],
  });
  await act(live);
  expect(most).toBe(1);
});

test('a round with a pending call suspends the run with its last reply', async () => {
  const { live, results } = await runWith([named('external'), named('own', () => 'ok')]);
  expect(await act(live)).toMatchObject({
    kind: 'unanswered',
    reason: 'suspended',
    message: { id: live.log.lastReply!.id },
  });
  expect(results()).toMatchObject([{ name: 'own' }]);
  expect(live.calls.pending).toMatchObject([{ name: 'external', kind: 'external' }]);
});

test('what hooks asked for at results is carried out after the last one', async () => {
  const { live, results } = await runWith([named('a', () => '1'), named('b', () => '2')], {
    use: [{ on: { 'post-acting': (event) => event.jumpTo('end') } }],
  });
  expect(await act(live)).toMatchObject({ kind: 'unanswered', stoppedAt: 'post-acting' });
  expect(results()).toHaveLength(2);
});

test('an interrupt during tools ends the run after they have ended', async () => {
  const { live, results } = await runWith([
    named('a', () => {
      live.halt.stopWith({ kind: 'interrupted' });
      return 'done';
    }),
  ]);
  expect(await act(live)).toMatchObject({ kind: 'custom', reason: 'interrupted' });
  expect(results()).toMatchObject([{ output: 'done' }]);
});

test('progress of a tool goes to hooks and readers', async () => {
  const { live, events } = await runWith([
    named('a', (_input, { emit }) => {
      emit('half');
      return 'done';
    }),
  ]);
  await act(live);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'acting-chunk', toolUseId: 'a', chunk: 'half' }),
  );
});

test('if wrapRound fails, the run fails with its error', async () => {
  const wrapRound = (): Promise<never> => Promise.reject(new Error('broken'));
  const { live } = await runWith([named('a', () => '1')], { use: [{ wrapRound }] });
  await expect(act(live)).rejects.toThrow('broken');
  expect(live.halt.failure).toBe(live.halt.signal.reason);
  expect(live.halt.failure?.message).toBe('wrapRound() of "unnamed" failed: broken');
});
