import { agentEndpoint, type UIMessage } from '@isoloop/react';
import { expect, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { HeldSource } from '../../../web-worker/test-support/held-source.ts';
import { linesOf, mountChat } from '../../../web-worker/test-support/mounted-chat.ts';

const waiting: UIMessage = {
  id: 'a',
  role: 'assistant',
  parts: ['c1', 'c2'].map((toolCallId) => ({
    type: 'dynamic-tool',
    toolName: 'pay',
    toolCallId,
    state: 'approval-requested',
    input: { coins: 1 },
    approval: { id: `approval-${toolCallId}` },
  })),
};

/** Opens a chat in which two tool calls wait. */
async function opened() {
  const source = new HeldSource();
  source.history = [{ id: 'q', role: 'user', parts: [{ type: 'text', text: 'go' }] }, waiting];
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.approvals).toHaveLength(2);
  return { source, view };
}

/** States of the tool calls that a request sends. */
function statesOf({ messages }: HeldSource['requests'][number]): readonly unknown[] {
  return messages.at(-1)!.parts.map((part) => 'state' in part && part.state);
}

/** Sends an answer with the results of these calls, and waits for its end. */
async function answer(
  { source, view }: Awaited<ReturnType<typeof opened>>,
  ...ids: readonly string[]
): Promise<void> {
  source.batch({ type: 'start', messageId: 'a' });
  for (const toolCallId of ids)
    source.batch({ type: 'tool-output-available', toolCallId, output: 'paid' });
  source.end();
  await expect.poll(() => view.chat().status).toBe('ready');
}

test('decisions that are made at once go in one request', async () => {
  const chat = await opened();
  const { source, view } = chat;
  const [one, two] = view.chat().approvals;
  await Promise.all([one!.approve(), two!.edit({ coins: 2 })]);
  await expect.poll(() => source.requests).toHaveLength(1);
  expect(statesOf(source.requests[0]!)).toEqual(['approval-responded', 'approval-responded']);
  await answer(chat, 'c1', 'c2');
  expect(linesOf(view)[1]).toBe('assistant: pay output-available paid | pay output-available paid');
  expect(source.requests).toHaveLength(1);
});

test('a decision that is made while an answer arrives is sent at its end', async () => {
  const chat = await opened();
  const { source, view } = chat;
  const [one, two] = view.chat().approvals;
  await one!.approve();
  await expect.poll(() => source.requests).toHaveLength(1);
  await two!.approve();
  source.batch({ type: 'start', messageId: 'a' });
  source.batch({ type: 'tool-output-available', toolCallId: 'c1', output: 'paid' });
  source.end();
  await expect.poll(() => source.requests).toHaveLength(2);
  expect(source.requests.map(statesOf)).toEqual([
    ['approval-responded', 'approval-requested'],
    ['output-available', 'approval-responded'],
  ]);
  await answer(chat, 'c2');
  expect(source.requests).toHaveLength(2);
});

test('a decision that is made during a stop is sent after it', async () => {
  const chat = await opened();
  const { source, view } = chat;
  let endStop = (): void => {};
  source.stop = () => new Promise((resolve) => (endStop = () => resolve(true)));
  const stopping = view.chat().stop();
  const deciding = view.chat().approvals[0]!.approve();
  // Lets everything run that does not wait for the stop.
  await new Promise((resolve) => setTimeout(resolve));
  expect(source.requests).toEqual([]);
  endStop();
  await Promise.all([stopping, deciding]);
  await expect
    .poll(() => source.requests.map(statesOf))
    .toEqual([['approval-responded', 'approval-requested']]);
  await answer(chat, 'c1');
  expect(linesOf(view)[1]).toBe('assistant: pay output-available paid | pay approval-requested');
});

test.for(['onFinish', 'stop'] as const)(
  'a decision that is made before a waiting message is sent reaches the agent with it or before it: %s',
  async (moment) => {
    const source = new HeldSource();
    let deciding: unknown;
    const decide = (): void => {
      const id = 'approval-c1';
      deciding = view.chat().addToolApprovalResponse({ id, approved: true });
    };
    const sessionId = crypto.randomUUID();
    const onFinish = moment === 'onFinish' ? decide : (): void => {};
    const view = mountChat(source, { sessionId, onFinish });
    await expect.poll(() => view.chat()?.status).toBe('ready');
    void view.chat().sendMessage({ text: 'go' });
    await expect.poll(() => source.requests).toHaveLength(1);
    const sending = view.chat().sendMessage({ text: 'next' });
    await expect.poll(() => view.chat().queued).toHaveLength(1);
    let endStop = (): void => {};
    source.stop = () => new Promise((resolve) => (endStop = () => resolve(true)));
    const stopping = moment === 'stop' && view.chat().stop();
    source.batch(
      { type: 'start', messageId: 'a' },
      { type: 'start-step' },
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'pay', input: {} },
      { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'approval-c1' },
    );
    source.end();
    if (moment === 'stop') {
      await expect.poll(() => view.chat().approvals).toHaveLength(1);
      decide();
      endStop();
    }
    await expect.poll(() => source.requests).toHaveLength(2);
    const answered = source.requests[1]!.messages.find(({ id }) => id === 'a');
    expect(answered?.parts.at(-1)).toMatchObject({ state: 'approval-responded' });
    source.batch({ type: 'start', messageId: 'a' });
    source.batch({ type: 'tool-output-available', toolCallId: 'c1', output: 'paid' });
    source.end();
    if (source.requests[1]!.messages.at(-1)!.role === 'assistant') {
      await expect.poll(() => source.requests).toHaveLength(3);
      source.batch({ type: 'start', messageId: 'b' });
      source.end();
    }
    await Promise.all([stopping, deciding, sending]);
    expect(source.requests.at(-1)!.messages.at(-1)).toMatchObject({ parts: [{ text: 'next' }] });
  },
);

test('the result of a tool of the page stays, and goes with the next message, if the page loads meanwhile', async () => {
  const { source, view } = await opened();
  const { reads } = source;
  await view.chat().addToolOutput({ tool: 'pay', toolCallId: 'c1', output: 'paid' } as never);
  source.look();
  await expect.poll(() => source.reads).toBe(reads + 1);
  void view.chat().sendMessage({ text: 'next' });
  await expect.poll(() => source.requests).toHaveLength(1);
  const { messages } = source.requests[0]!;
  expect(statesOf({ ...source.requests[0]!, messages: messages.slice(0, -1) })).toEqual([
    'output-available',
    'approval-requested',
  ]);
  source.end();
  await expect.poll(() => view.chat().status).toBe('ready');
});

test('the agent of an endpoint answers decisions that are made at once without an error', async () => {
  const toolCalls = ['one', 'two'].map((id) => ({ id, name: 'send' }));
  const { fetch } = new ChatEndpoint([{ toolCalls }, 'Done.']);
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(2);
  await Promise.all(view.chat().approvals.map((approval) => approval.approve()));
  await expect.poll(() => linesOf(view)[1]).toContain('Done.');
  await expect.poll(() => view.chat().isBusy).toBe(false);
  expect(view.chat().error).toBeUndefined();
});
