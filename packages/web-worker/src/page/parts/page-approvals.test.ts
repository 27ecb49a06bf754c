import type { PendingCall } from '@isoloop/core';
import { pageApprovals, pageTools } from '@isoloop/web-worker';
import { readUIMessageStream, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import {
  startPageWorker,
  toolOutputs,
  calls,
  forever,
  title,
} from '../../../test-support/page-under-test.ts';

test('a page approves, edits and rejects tool calls; without a decision or pageApprovals() the call is suspended', async () => {
  const verdicts = [
    { type: 'approve' },
    { type: 'edit', input: { text: 'two' } },
    { type: 'reject', reason: 'too bold' },
    undefined,
  ] as const;
  const asked: string[] = [];
  let next = 0;
  const decide = pageApprovals(({ name }, { messages }) => {
    asked.push(`${name} ${messages.length}`);
    return verdicts[next++];
  });
  const { connect } = startPageWorker();
  const call = { toolCalls: [{ name: 'title', input: { text: 'one' } }] };
  const agent = connect(
    { replies: [call, 'a', call, 'b', call, 'c', call, 'd'], needsApproval: ['title'] },
    { page: [pageTools([title]), decide] },
  );
  await agent.call('1');
  expect(document.title).toBe('one');
  await agent.call('2');
  expect(document.title).toBe('two');
  const edited = (await agent.messages()).flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_use' ? [block.input] : [])),
  );
  expect(edited).toEqual([{ text: 'one' }, { text: 'two' }]);
  await agent.call('3');
  expect(toolOutputs(await agent.messages()).at(-1)).toContain('too bold');
  expect(await agent.call('4')).toMatchObject({
    reason: 'suspended',
    pending: [{ kind: 'approval', name: 'title' }],
  });
  expect(asked.length).toBe(4);
  const [{ toolUseId }] = (await agent.pending()) as readonly [PendingCall];
  await expect(agent.decide({ toolUseId: 'other', type: 'approve' })).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  expect((await agent.decide({ toolUseId, type: 'reject' })).text).toBe('d');
  const alone = connect(
    { replies: [call], needsApproval: ['title'] },
    { sessionId: 'alone', page: [pageTools([title])] },
  );
  expect(await alone.call('go')).toMatchObject({ reason: 'suspended' });
});

test('a chat shows the arguments that the page edited, not the arguments of the model', async () => {
  const agent = startPageWorker().connect(
    { replies: calls('here', { at: 'sea' }), needsApproval: ['here'] },
    { page: [pageApprovals(() => ({ type: 'edit', input: { at: 'lake' } }))] },
  );
  const stream = await agent.chatTransport().sendMessages({
    trigger: 'submit-message',
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Where?' }] }],
    abortSignal: undefined,
  });
  let shown: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) shown = message;
  expect(shown!.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
    { state: 'output-available', input: { at: 'lake' } },
  ]);
});

test('when a page leaves before its decision, the call is suspended, and another page decides it after a restart', async () => {
  const database = `approval-${crypto.randomUUID()}`;
  const first = startPageWorker();
  const replies = calls('title', { text: 'x' });
  const leaver: { leave?: () => void } = {};
  const leaving = first.connect(
    { replies, needsApproval: ['title'], database },
    { page: [pageTools([title]), pageApprovals(() => (leaver.leave!(), forever()))] },
  );
  leaver.leave = () => leaving.close();
  const stays = first.connect();
  expect(await stays.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ kind: 'approval' }],
  });
  first.worker.terminate();
  const agent = startPageWorker().connect(
    { replies: ['done'], needsApproval: ['title'], database },
    { page: [pageTools([title])] },
  );
  const [{ toolUseId }] = (await agent.pending()) as readonly [PendingCall];
  expect((await agent.decide({ toolUseId, type: 'approve' })).text).toBe('done');
  expect(document.title).toBe('x');
});
