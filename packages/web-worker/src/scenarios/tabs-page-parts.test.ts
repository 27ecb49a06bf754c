import { tool, toolResultsOf, type AgentEvent, type Msg } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import {
  pageApprovals,
  pageHooks,
  pageModel,
  pageTools,
  type RemoteAgent,
} from '@isoloop/web-worker';
import { expect, test } from 'vitest';
import { read, startTabs } from '../../test-support/tabs-under-test.ts';

const outputs = (messages: readonly Msg[]): readonly unknown[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => output);
const where = (name: string, execute: () => unknown = () => name) =>
  tool({
    name: 'where',
    description: 'Says where',
    input: { type: 'object' },
    replay: 'safe',
    execute: execute as () => string,
  });
const asksWhere = [{ toolCalls: [{ name: 'where' }] }];

test('a run uses the page tools of the tab that asked, and the other page parts of the leading tab', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const seen: string[] = [];
  const parts = (name: string) => [
    pageTools([where(name)]),
    pageHooks([{ on: { 'post-acting': () => void seen.push(name) } }]),
    pageModel(new ScriptedModel([asksWhere, `model of ${name}`])),
  ];
  await first.connect([], { pageModel: true, page: parts('first') }).messages();
  const follower = second.connect([], { pageModel: true, page: parts('second') });
  expect((await follower.call('go')).text).toBe('model of first');
  first.worker.terminate();
  expect((await follower.call('again')).text).toBe('model of second');
  expect(outputs(await follower.messages())).toEqual(['second', 'second']);
  expect(seen).toEqual(['first', 'second']);
});

async function suspended(leader: RemoteAgent, follower: RemoteAgent): Promise<void> {
  const asked = await leader.call('go');
  expect(asked).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'n1', kind: 'approval' }],
  });
  expect(await follower.pending()).toEqual(asked.pending);
}

const asksNote = [{ toolCalls: [{ name: 'note', id: 'n1' }] }];
const needsApproval = ['note'];

test('any tab can decide an approval that the leader’s page does not answer', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([asksNote, 'done'], {
    needsApproval,
    page: [pageApprovals(() => undefined)],
  });
  await leader.messages();
  const follower = second.connect([], {
    needsApproval,
    page: [pageApprovals(() => ({ type: 'reject' }))],
  });
  await suspended(leader, follower);
  expect((await follower.decide({ toolUseId: 'n1', type: 'approve' })).text).toBe('done');
  expect(await leader.pending()).toEqual([]);
  expect([first.told, second.told].flat().filter((one) => 'ran' in one)).toEqual([{ ran: 'n1' }]);
});

test('another tab can decide an open approval after its tab has crashed', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([asksNote], { needsApproval });
  await leader.messages();
  const follower = second.connect(['done'], { needsApproval });
  await suspended(leader, follower);
  first.worker.terminate();
  expect(await follower.pending()).toMatchObject([{ toolUseId: 'n1' }]);
  expect((await follower.decide({ toolUseId: 'n1', type: 'approve' })).text).toBe('done');
});

test('after a tab crashes, the next leader’s page is asked for the approval that was open', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  let asked = (): void => {};
  const asking = new Promise<void>((resolve) => (asked = resolve));
  const never = pageApprovals(() => {
    asked();
    return new Promise<never>(() => {});
  });
  await first.connect([asksNote], { needsApproval, page: [never] }).messages();
  const follower = second.connect(['done'], {
    needsApproval,
    page: [pageApprovals(() => ({ type: 'approve' }))],
  });
  const stream = follower.stream('go');
  const events: readonly AgentEvent[] = read(stream).events;
  await asking;
  first.worker.terminate();
  expect((await stream.result).text).toBe('done');
  expect(events.filter(({ type }) => type === 'run-end')).toHaveLength(1);
  expect([first.told, second.told].flat().filter((one) => 'ran' in one)).toEqual([{ ran: 'n1' }]);
});

test('a new leader whose page has no model suspends the run and reports CONFIGURATION', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const model = pageModel(new ScriptedModel([asksNote, { hang: true }]));
  await first.connect([], { pageModel: true, page: [model] }).messages();
  const follower = second.connect([], { pageModel: true });
  const answer = follower.call('go');
  await first.heard({ ran: 'n1' });
  await expect.poll(async () => (await follower.messages()).length).toBe(3);
  first.worker.terminate();
  expect(await answer).toMatchObject({ reason: 'suspended', error: { code: 'CONFIGURATION' } });
});
