import { tool, type Decision, type Msg, type PendingCall, type Tool } from '@isoloop/core';
import { hasApprovalResponse } from '@isoloop/core/stream';
import { connectAgent, pageTools, type RemoteAgent } from '@isoloop/web-worker';
import type { UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import type { PageFixtureOptions } from '../../test-support/page.ts';
import { chatOver, type PlainChat } from '../../test-support/plain-chat.ts';

interface Connect extends PageFixtureOptions {
  /** Tools of this page. */
  readonly tools?: readonly Tool[];
}

function startWorker(sessionId: string = crypto.randomUUID()) {
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const connect = ({ tools = [], ...options }: Connect = {}): RemoteAgent =>
    connectAgent(worker, {
      timeoutMs: 120_000,
      agent: 'main',
      sessionId,
      options,
      page: tools.length ? [pageTools(tools)] : [],
    });
  return { worker, connect };
}

const empty = { type: 'object' } as const;
const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ name })) });
const needsApproval = (name: string): Tool =>
  tool({
    name,
    description: name,
    input: empty,
    needsApproval: true,
    execute: () => `${name} ran`,
  });
const later = tool({
  name: 'later',
  description: 'Waits',
  input: empty,
  execute: (_input, { suspend }) => suspend('Not now.'),
});
/** Returns a tool that never ends, and a promise that resolves when the tool starts. */
function endless(): { readonly hold: Tool; readonly begun: Promise<void> } {
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const execute = (): Promise<string> => {
    begin();
    return new Promise(() => {});
  };
  return { hold: tool({ name: 'hold', description: 'Holds', input: empty, execute }), begun };
}

const denied = 'Tool call rejected: the user wrote a new message instead of deciding';
const told = (messages: readonly Msg[]): readonly unknown[] =>
  messages.flatMap(({ content }) =>
    content.flatMap((block): unknown[] => {
      if (block.type === 'text') return [block.text];
      return block.type === 'tool_result' ? [[block.name, block.state, block.output]] : [];
    }),
  );
const callOf = (chat: PlainChat, name: string): { readonly id: string; readonly state: string } => {
  const part = chat.messages
    .flatMap(({ parts }) => parts)
    .findLast((each) => each.type === 'dynamic-tool' && each.toolName === name);
  if (part?.type !== 'dynamic-tool') throw new Error(`There is no call of ${name}.`);
  return { id: part.toolCallId, state: part.state };
};
const codeOf = (chat: PlainChat): unknown => (chat.error as { readonly code?: string }).code;

test('a message instead of a decision denies the tool call, and the chat continues', async () => {
  const agent = startWorker().connect({
    replies: [calls('here'), 'Tea, then.', 'Yes?'],
    needsApproval: ['here'],
  });
  const chat = chatOver(agent);
  await chat.sendMessage({ text: 'Where?' });
  expect(callOf(chat, 'here').state).toBe('approval-requested');
  await chat.sendMessage({ text: 'Tea instead' });
  expect(chat.error).toBeUndefined();
  await chat.sendMessage({ text: 'Hello' });
  expect(told(await agent.messages())).toEqual([
    'Where?',
    ['here', 'denied', denied],
    'Tea instead',
    'Tea, then.',
    'Hello',
    'Yes?',
  ]);
});

test('a message denies the tool calls that the user has not decided, and keeps the decisions on other calls', async () => {
  const agent = startWorker().connect({
    replies: [calls('a', 'b', 'c'), 'Done.'],
    tools: ['a', 'b', 'c'].map(needsApproval),
  });
  const chat = chatOver(agent);
  await chat.sendMessage({ text: 'Go' });
  await chat.addToolApprovalResponse({ id: callOf(chat, 'a').id, approved: true });
  await chat.addToolApprovalResponse({ id: callOf(chat, 'b').id, approved: false, reason: 'no b' });
  await chat.sendMessage({ text: 'And tea' });
  expect(chat.error).toBeUndefined();
  const [, ...rest] = told(await agent.messages());
  expect(rest.slice(0, 3).toSorted()).toEqual([
    ['a', 'success', 'a ran'],
    ['b', 'denied', 'Tool call rejected: no b'],
    ['c', 'denied', denied],
  ]);
  expect(rest.slice(3)).toEqual(['And tea', 'Done.']);
});

test('a message fails while a tool call waits for a result from the page; the denial of another call is still sent', async () => {
  const agent = startWorker().connect({
    replies: [calls('pay', 'color'), 'Tea.'],
    tools: [needsApproval('pay')],
  });
  const chat = chatOver(agent, { sendAutomaticallyWhen: hasApprovalResponse });
  await chat.sendMessage({ text: 'Pay and paint' });
  const before = await agent.messages();
  await chat.sendMessage({ text: 'Tea instead' });
  expect(codeOf(chat)).toBe('PENDING_TOOL_CALLS');
  expect(chat.error?.message).toMatch(/"pay" \(.+\), "color" \(.+\)\. Send decisions or results/);
  expect(await agent.messages()).toEqual(before);
  await chat.addToolApprovalResponse({ id: callOf(chat, 'pay').id, approved: false });
  await expect.poll(() => callOf(chat, 'pay').state).toBe('output-denied');
  await expect.poll(() => chat.status).toBe('ready');
  await chat.addToolOutput({ tool: 'color', toolCallId: callOf(chat, 'color').id, output: 'blue' });
  await chat.sendMessage({ text: 'And tea' });
  expect(told(await agent.messages())).toEqual([
    'Pay and paint',
    ['pay', 'denied', 'Tool call rejected: no reason given'],
    ['color', 'success', 'blue'],
    'And tea',
    'Tea.',
  ]);
});

test('after a message in another chat, a late decision fails, and its chat can continue', async () => {
  const { connect } = startWorker();
  const agent = connect({
    replies: [calls('here'), 'Tea.', 'Yes?'],
    needsApproval: ['here'],
  });
  const first = chatOver(agent, { sendAutomaticallyWhen: hasApprovalResponse });
  await first.sendMessage({ text: 'Where?' });
  const other = connect();
  const second = chatOver(other, { messages: (await other.uiMessages()) as UIMessage[] });
  await second.sendMessage({ text: 'Tea instead' });
  await first.addToolApprovalResponse({ id: callOf(first, 'here').id, approved: true });
  await expect.poll(() => first.status).toBe('error');
  await first.sendMessage({ text: 'Hello' });
  expect(first.error).toBeUndefined();
  expect(told(await agent.messages())).toEqual([
    'Where?',
    ['here', 'denied', denied],
    'Tea instead',
    'Tea.',
    'Hello',
    'Yes?',
  ]);
});

const unknownEffect =
  'Interrupted before it finished; its effect is unknown. The page or process that ran it has ended.';

test('after a page has left, a message closes the call of its page tool as interrupted, also next to an open approval', async () => {
  const { connect } = startWorker();
  const { hold, begun } = endless();
  const agent = connect({
    replies: [calls('hold', 'here'), 'Tea.'],
    needsApproval: ['here'],
  });
  const page = connect({ tools: [hold] });
  await page.messages();
  const chat = chatOver(agent);
  const sending = chat.sendMessage({ text: 'Hold' });
  await begun;
  page.close();
  await sending;
  await chat.sendMessage({ text: 'Tea instead' });
  expect(chat.error).toBeUndefined();
  const [, ...rest] = told(await agent.messages());
  expect(rest.slice(0, 2).toSorted()).toEqual([
    ['here', 'denied', denied],
    ['hold', 'interrupted', unknownEffect],
  ]);
  expect(rest.slice(2)).toEqual(['Tea instead', 'Tea.']);
});

test('a suspended call of a page tool blocks messages until no page has the tool', async () => {
  const { connect } = startWorker();
  const agent = connect({ replies: [calls('later'), 'Tea.'] });
  const [page, other] = [connect({ tools: [later] }), connect({ tools: [later] })];
  await Promise.all([page.messages(), other.messages()]);
  const chat = chatOver(agent);
  await chat.sendMessage({ text: 'Wait' });
  page.close();
  await chat.sendMessage({ text: 'Tea instead' });
  expect(codeOf(chat)).toBe('PENDING_TOOL_CALLS');
  expect(chat.error?.message).toMatch(/"later" \(.+\)/);
  other.close();
  await agent.messages();
  await chat.sendMessage({ text: 'Tea instead' });
  expect(told(await agent.messages())).toEqual([
    'Wait',
    ['later', 'interrupted', unknownEffect],
    'Tea instead',
    'Tea.',
  ]);
});

test.for([true, false])(
  'after a reload during a page tool’s call, a message closes the call as interrupted (page has the tool again: %s)',
  async (again) => {
    const database = `reload-${crypto.randomUUID()}`;
    const session = crypto.randomUUID();
    const first = startWorker(session);
    const { hold, begun } = endless();
    const before = first.connect({ replies: [calls('hold')], database, tools: [hold] });
    void chatOver(before).sendMessage({ text: 'Hold' });
    await begun;
    first.worker.terminate();
    const agent = startWorker(session).connect({
      replies: ['Tea.'],
      database,
      tools: again ? [endless().hold] : [],
    });
    const chat = chatOver(agent, { messages: (await agent.uiMessages()) as UIMessage[] });
    await chat.sendMessage({ text: 'Tea instead' });
    expect(chat.error).toBeUndefined();
    expect(told(await agent.messages())).toEqual([
      'Hold',
      ['hold', 'interrupted', unknownEffect],
      'Tea instead',
      'Tea.',
    ]);
  },
);

test('after a reload, a message denies an approval that was requested before', async () => {
  const database = `reload-${crypto.randomUUID()}`;
  const session = crypto.randomUUID();
  const first = startWorker(session);
  const options = { needsApproval: ['here'], database };
  await chatOver(first.connect({ ...options, replies: [calls('here')] })).sendMessage({
    text: 'Where?',
  });
  first.worker.terminate();
  const agent = startWorker(session).connect({ ...options, replies: ['Tea.'] });
  const chat = chatOver(agent, { messages: (await agent.uiMessages()) as UIMessage[] });
  await chat.sendMessage({ text: 'Tea instead' });
  expect(told(await agent.messages())).toEqual([
    'Where?',
    ['here', 'denied', denied],
    'Tea instead',
    'Tea.',
  ]);
});

test('agent.call() rejects a message while an approval is open', async () => {
  const agent = startWorker().connect({ replies: [calls('here')], needsApproval: ['here'] });
  await agent.call('Where?');
  await expect(agent.call('Tea instead')).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' });
});

test.for<readonly [string, object, string]>([
  ['the name of another tool', { toolName: 'now' }, 'INVALID_DECISION'],
  ['an empty name', { toolName: '' }, 'INVALID_DECISION'],
  ['another name in its type', { type: 'tool-now' }, 'INVALID_DECISION'],
  // Such a part is no decision.
  ['no name', { toolName: undefined }, 'INVALID_MESSAGE'],
])('the chat refuses an approval with %s, and the tool does not run', async ([, forged, code]) => {
  let paid = 0;
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: empty,
    needsApproval: true,
    execute: () => `paid ${++paid}`,
  });
  const agent = startWorker().connect({ replies: [calls('pay'), 'Done.'], tools: [pay] });
  const chat = chatOver(agent);
  await chat.sendMessage({ text: 'Go' });
  const { id } = callOf(chat, 'pay');
  const answer = chat.messages.at(-1)!;
  const approval = { state: 'approval-responded', approval: { id, approved: true } };
  const parts = (more: object): UIMessage['parts'] =>
    answer.parts.map((part) =>
      part.type === 'dynamic-tool' ? ({ ...part, ...approval, ...more } as typeof part) : part,
    );
  const send = (more: object): Promise<ReadableStream> =>
    agent.chatTransport().sendMessages({
      trigger: 'submit-message',
      messages: [{ ...answer, parts: parts(more) }],
      abortSignal: undefined,
    });
  const reading = (await send(forged)).getReader().read();
  await expect(reading).rejects.toMatchObject({ code });
  expect(await agent.pending()).toMatchObject([{ toolUseId: id }]);
  expect(paid).toBe(0);
  for await (const _chunk of (await send({})) as unknown as AsyncIterable<unknown>);
  expect(paid).toBe(1);
});

test.for([{ name: 'now' }, { name: '' }, { toolName: 'now' }, { input: { sum: 1 } }])(
  'decide() refuses an approval with %j, and the call still waits',
  async (more) => {
    const agent = startWorker().connect({ replies: [calls('here')], needsApproval: ['here'] });
    const [{ toolUseId }] = (await agent.call('Where?')).pending as readonly [PendingCall];
    const deciding = agent.decide({ toolUseId, type: 'approve', ...more } as Decision);
    await expect(deciding).rejects.toMatchObject({
      code: expect.stringMatching(/^INVALID_(INPUT|DECISION)$/),
    });
    expect(await agent.pending()).toMatchObject([{ toolUseId }]);
  },
);
