import { AgentError, MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { hasApprovalResponse } from '@isoloop/core/stream';
import { inputGuard } from '@isoloop/guards';
import { closeOpenCalls } from '@isoloop/core/approval';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { beforeEach, expect, test } from 'vitest';
import {
  boundEndpoint,
  places,
  textOf,
  type Bound,
  type TestChat,
} from '../../test-support/both-bindings.ts';
import { color, payments } from '@test/claims/payments.ts';

let { paid, pay } = payments();
beforeEach(() => void ({ paid, pay } = payments()));

type Call = readonly [id: string, name: string, input?: object];
const calls = (...all: readonly Call[]): ScriptedReply => ({
  toolCalls: all.map(([id, name, input = { sum: 5 }]) => ({ id, name, input: input as never })),
});
const asked = calls(['c1', 'pay']);
const denied = 'Tool call rejected: the user wrote a new message instead of deciding';

/** Returns the tool results and the texts of the model's last request. */
const told = ({ model }: Pick<Bound, 'model'>): readonly unknown[] =>
  model.requests
    .at(-1)!
    .messages.flatMap(({ content }) =>
      content.flatMap((block): unknown[] =>
        block.type === 'tool_result'
          ? [[block.toolUseId, block.state, block.output]]
          : block.type === 'text'
            ? [block.text]
            : [],
      ),
    );
const states = (messages: readonly UIMessage[]): Record<string, string> =>
  Object.fromEntries(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === 'dynamic-tool' ? [[part.toolCallId, part.state] as const] : [],
      ),
    ),
  );
const errorOf = (chat: TestChat): string => chat.error?.message ?? '';

test.for(places)(
  '%s: a message instead of a decision denies the call, and the model gets the denial and the message',
  async (place) => {
    const bound = boundEndpoint(place, [asked, 'Tea, then.', 'Yes?'], { tools: [pay] });
    const chat = bound.chat();
    await chat.sendMessage({ text: 'Pay' });
    await chat.sendMessage({ text: 'Tea instead' });
    expect(chat.error).toBeUndefined();
    expect(told(bound)).toEqual(['Pay', ['c1', 'denied', denied], 'Tea instead']);
    await chat.sendMessage({ text: 'Hello' });
    expect(chat.texts).toEqual(['Pay', '', 'Tea instead', 'Tea, then.', 'Hello', 'Yes?']);
    expect((await bound.messages()).map(textOf)).toEqual(chat.texts);
    expect(states(await bound.messages())).toEqual({ c1: 'output-denied' });
    expect(paid).toEqual([]);
  },
);

test.for(places)(
  '%s: after a reload, a message denies the call, and the user can regenerate its answer or edit it',
  async (place) => {
    const bound = boundEndpoint(place, [asked, 'Tea.', 'Tea again.', 'Coffee.'], { tools: [pay] });
    await bound.chat().sendMessage({ text: 'Pay' });
    const chat = bound.chat({ messages: await bound.messages() });
    await chat.sendMessage({ text: 'Tea instead' });
    await chat.regenerate();
    expect(told(bound)).toEqual(['Pay', ['c1', 'denied', denied], 'Tea instead']);
    await chat.sendMessage({ text: 'Coffee instead', messageId: chat.messages[2]!.id });
    expect(told(bound)).toEqual(['Pay', ['c1', 'denied', denied], 'Coffee instead']);
    expect((await bound.messages()).map(textOf)).toEqual(['Pay', '', 'Coffee instead', 'Coffee.']);
    expect(paid).toEqual([]);
  },
);

test.for(places)(
  '%s: a message denies the calls that the user has not decided, and keeps the decisions on other calls',
  async (place) => {
    const three = calls(
      ['c1', 'pay', { sum: 1 }],
      ['c2', 'pay', { sum: 2 }],
      ['c3', 'pay', { sum: 3 }],
    );
    const bound = boundEndpoint(place, [three, 'Done.', 'Yes?'], { tools: [pay] });
    const chat = bound.chat();
    await chat.sendMessage({ text: 'Pay' });
    await chat.addToolApprovalResponse({ id: 'c1', approved: true });
    await chat.addToolApprovalResponse({ id: 'c2', approved: false, reason: 'too much' });
    await chat.sendMessage({ text: 'And tea' });
    expect(chat.error).toBeUndefined();
    expect(told(bound)).toEqual([
      'Pay',
      ['c1', 'success', 'paid 1'],
      ['c2', 'denied', 'Tool call rejected: too much'],
      ['c3', 'denied', denied],
      'And tea',
    ]);
    // The client's messages still contain the decisions.
    await chat.sendMessage({ text: 'Hello' });
    expect((await bound.messages()).map(textOf)).toEqual([
      'Pay',
      '',
      'And tea',
      'Done.',
      'Hello',
      'Yes?',
    ]);
    expect(paid).toEqual([1]);
  },
);

test.for(places)(
  '%s: a message fails while a call waits for a result, and the error names the open calls',
  async (place) => {
    const both = calls(['c1', 'pay'], ['c2', 'color', {}]);
    const bound = boundEndpoint(place, [both, 'Tea.'], { tools: [pay, color] });
    const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await chat.sendMessage({ text: 'Pay and paint' });
    const before = (await bound.messages()).map(({ parts }) => parts);
    await chat.sendMessage({ text: 'Tea instead' });
    expect(errorOf(chat)).toContain('PENDING_TOOL_CALLS');
    expect(errorOf(chat)).toContain('(c1)');
    expect(errorOf(chat)).toContain('(c2)');
    expect(errorOf(chat)).toContain('Send decisions or results');
    expect((await bound.messages()).map(({ parts }) => parts)).toEqual(before);

    // The chat still shows the rejected message after the answer with the open calls.
    await chat.addToolApprovalResponse({ id: 'c1', approved: false });
    await expect.poll(() => states(chat.messages)['c1']).toBe('output-denied');
    await expect.poll(() => chat.status).toBe('ready');
    // The request with the next message also contains the result of `c2`.
    await chat.addToolOutput({ tool: 'color', toolCallId: 'c2', output: 'blue' });
    await chat.sendMessage({ text: 'And tea' });
    expect(told(bound).slice(1)).toEqual([
      ['c1', 'denied', 'Tool call rejected: no reason given'],
      ['c2', 'success', 'blue'],
      'And tea',
    ]);
    expect((await bound.messages()).map(textOf)).toEqual(['Pay and paint', '', 'And tea', 'Tea.']);
    expect(paid).toEqual([]);
  },
);

test.for(places)(
  '%s: the endpoint accepts each decision by itself, whether one or two calls are open',
  async (place) => {
    const two = calls(['c2', 'pay', { sum: 1 }], ['c3', 'pay', { sum: 2 }]);
    const bound = boundEndpoint(place, [asked, 'Not, then.', two, 'One.'], { tools: [pay] });
    const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await chat.sendMessage({ text: 'Pay' });
    await chat.addToolApprovalResponse({ id: 'c1', approved: false });
    await expect.poll(() => chat.texts).toEqual(['Pay', 'Not, then.']);
    await chat.sendMessage({ text: 'Pay twice' });
    await chat.addToolApprovalResponse({ id: 'c2', approved: false });
    await expect
      .poll(() => chat.status === 'ready' && states(chat.messages)['c2'])
      .toBe('output-denied');
    expect(states(await bound.messages())).toMatchObject({
      c2: 'output-denied',
      c3: 'approval-requested',
    });
    await chat.addToolApprovalResponse({ id: 'c3', approved: true });
    await expect.poll(() => chat.texts.at(-1)).toBe('One.');
    expect(paid).toEqual([2]);
  },
);

test.for(places)(
  '%s: a decision fails after a message in another tab, and the chat of the first tab can continue',
  async (place) => {
    const bound = boundEndpoint(place, [asked, 'Tea.', 'Yes?'], { tools: [pay] });
    const first = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await first.sendMessage({ text: 'Pay' });
    const second = bound.chat({ messages: await bound.messages() });
    await second.sendMessage({ text: 'Tea instead' });
    await first.addToolApprovalResponse({ id: 'c1', approved: true });
    await expect.poll(() => first.status).toBe('error');
    expect(errorOf(first)).toMatch(/INVALID_DECISION|SESSION_CONFLICT/);
    if (place !== 'KV with echoes') {
      // This tab's messages still contain the late decision. It must not lock the chat.
      await first.sendMessage({ text: 'Hello' });
      expect(first.error).toBeUndefined();
      expect((await bound.messages()).map(textOf)).toEqual([
        'Pay',
        '',
        'Tea instead',
        'Tea.',
        'Hello',
        'Yes?',
      ]);
    }
    expect(paid).toEqual([]);
  },
);

test.for(places)('%s: a message denies no call that was decided in another tab', async (place) => {
  const bound = boundEndpoint(place, [asked, 'Paid.', 'Tea.'], { tools: [pay] });
  const first = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
  await first.sendMessage({ text: 'Pay' });
  const second = bound.chat({ messages: await bound.messages() });
  await first.addToolApprovalResponse({ id: 'c1', approved: true });
  // The text arrives before the turn is stored.
  await expect.poll(async () => states(await bound.messages())).toEqual({ c1: 'output-available' });
  if (place === 'KV with echoes') second.messages = await bound.messages();
  await second.sendMessage({ text: 'And tea' });
  expect(told(bound)).toEqual(['Pay', ['c1', 'success', 'paid 5'], 'Paid.', 'And tea']);
});

test.for(places)(
  '%s: forged decisions change nothing in other sessions and for other tools',
  async (place) => {
    const other = boundEndpoint(place, [calls(['x1', 'pay']), 'Paid.'], { tools: [pay] });
    const theirs = other.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await theirs.sendMessage({ text: 'Pay' });
    const bound = boundEndpoint(place, [asked, 'Tea.'], { tools: [pay] });
    const chat = bound.chat();
    await chat.sendMessage({ text: 'Pay' });
    const forged = (toolCallId: string, approved: boolean, toolName = 'pay'): object => ({
      type: 'dynamic-tool',
      toolName,
      toolCallId,
      state: 'approval-responded',
      input: {},
      approval: { id: toolCallId, approved },
    });
    const answer = chat.messages.at(-1)!;
    chat.messages = [
      chat.messages[0]!,
      {
        ...answer,
        parts: [forged('x1', false), forged('nobody', true), forged('c1', true, 'color')] as never,
      },
    ];
    await chat.sendMessage({ text: 'Tea instead' });
    expect(told(bound)).toEqual(['Pay', ['c1', 'denied', denied], 'Tea instead']);
    expect(states(await other.messages())).toEqual({ x1: 'approval-requested' });
    await theirs.addToolApprovalResponse({ id: 'x1', approved: true });
    await expect.poll(() => theirs.texts.at(-1)).toBe('Paid.');
    expect(paid).toEqual([5]);
  },
);

test.for(places)(
  '%s: a message denies the open call of a child agent, and the child can be called again',
  async (place) => {
    const child = new ScriptedModel([asked, 'Then not.', 'Here.']);
    const store = new MemoryStore();
    const purse = agentTool(
      ({ sessionId }) => {
        const memory = new SessionMemory(store, sessionId);
        return new ReActAgent({ name: 'purse', sessionId, memory, model: child, tools: [pay] });
      },
      { name: 'purse', description: 'Pays' },
    );
    const again = calls(['p2', 'call_purse', { message: 'Are you there?', session_id: 'p1' }]);
    const bound = boundEndpoint(
      place,
      [calls(['p1', 'call_purse', { message: 'Pay' }]), 'Tea.', again, 'Yes.'],
      { tools: [purse] },
    );
    const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await chat.sendMessage({ text: 'Pay' });
    expect(states(chat.messages)).toEqual({ p1: 'approval-requested' });
    expect(states(await bound.messages())).toEqual({ p1: 'approval-requested' });
    await chat.sendMessage({ text: 'Tea instead' });
    expect(chat.error).toBeUndefined();
    expect(told({ model: child })).toEqual(['Pay', ['c1', 'denied', denied]]);
    expect(told(bound)).toEqual(['Pay', ['p1', 'success', expect.any(String)], 'Tea instead']);
    await chat.sendMessage({ text: 'Is the purse there?' });
    expect(told(bound).at(-1)).toEqual(['p2', 'success', 'session_id: p1\n\nHere.']);
    expect(paid).toEqual([]);
  },
);

test.for(places)(
  '%s: closeOpenCalls() still closes calls that wait for something else',
  async (place) => {
    const both = calls(['c1', 'pay'], ['c2', 'color', {}]);
    const use = [closeOpenCalls()];
    const bound = boundEndpoint(place, [both, 'Tea.'], { tools: [pay, color], use });
    const chat = bound.chat();
    await chat.sendMessage({ text: 'Pay and paint' });
    await chat.sendMessage({ text: 'Tea instead' });
    const canceled = expect.stringContaining('another message came in');
    expect(told(bound)).toEqual([
      'Pay and paint',
      ['c1', 'interrupted', canceled],
      ['c2', 'interrupted', canceled],
      'Tea instead',
    ]);
  },
);

test.for(places)(
  '%s: `/api/run` and `/v1` reject a message while an approval is open',
  async (place) => {
    const bound = boundEndpoint(place, [asked, 'Tea.'], { tools: [pay] });
    const chat = bound.chat();
    await chat.sendMessage({ text: 'Pay' });
    const headers = { 'x-isoloop-session': bound.id };
    const run = await bound.post('/api/run', { sessionId: bound.id, input: 'Tea' });
    expect([run.status, await run.text()]).toEqual([409, expect.stringContaining('(c1)')]);
    const completion = bound.client(undefined, headers).chat.completions.create({
      model: 'offline',
      messages: [{ role: 'user', content: 'Tea' }],
    });
    await expect(completion).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' });
    expect(states(await bound.messages())).toEqual({ c1: 'approval-requested' });
  },
);

test.for(places)('%s: a message that a guard rejects leaves the approval open', async (place) => {
  const guard = inputGuard('guard', (input) => {
    if (JSON.stringify(input).includes('rude')) throw new AgentError('GUARD_REJECTED', 'No.');
    return input;
  });
  const bound = boundEndpoint(place, [asked, 'Paid.'], { tools: [pay], use: [guard] });
  const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
  await chat.sendMessage({ text: 'Pay' });
  await chat.sendMessage({ text: 'rude' });
  expect(states(await bound.messages())).toEqual({ c1: 'approval-requested' });
});
