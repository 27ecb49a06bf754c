import { AgentError, tool } from '@isoloop/core';
import { hasApprovalResponse } from '@isoloop/core/stream';
import { keepDataParts } from '@isoloop/core/results';
import { inputGuard } from '@isoloop/guards';
import { approvals } from '@isoloop/core/approval';
import { textToolCalls } from '@isoloop/core/text-protocol';
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai';
import { beforeEach, expect, test } from 'vitest';
import { boundEndpoint, places, textOf, type TestChat } from '../../test-support/both-bindings.ts';
import { color, payments } from '@test/claims/payments.ts';
import { rolesOf } from '@test/roles-of.ts';

let { paid, pay } = payments();
beforeEach(() => void ({ paid, pay } = payments()));

const wantsToPay = { toolCalls: [{ id: 'c1', name: 'pay', input: { sum: 5 } }] };

interface Rejecting {
  reject(reason: string): void;
}

const stopOf = (event: object): (() => void) => (event as { stop(): void }).stop;

const toolsOf = (chat: TestChat): readonly unknown[] =>
  chat.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'dynamic-tool'));
const idOf = (chat: TestChat, text: string): string =>
  chat.messages.find((message) => textOf(message) === text)!.id;

test.for(places)(
  '%s: useChat can regenerate the last answer and an earlier answer',
  async (place) => {
    const {
      chat: open,
      messages,
      model,
    } = boundEndpoint(place, ['One.', 'Two.', 'Two again.', 'One again.', 'And one more.']);
    const chat = open();
    await chat.sendMessage({ text: 'A' });
    await chat.sendMessage({ text: 'B' });
    await chat.regenerate();
    expect(chat.texts).toEqual(['A', 'One.', 'B', 'Two again.']);
    expect((await messages()).map(textOf)).toEqual(chat.texts);

    await chat.regenerate({ messageId: idOf(chat, 'One.') });
    expect(chat.texts).toEqual(['A', 'One again.']);
    expect((await messages()).map(textOf)).toEqual(chat.texts);
    expect(model.requests.at(-1)!.messages.length).toBe(1);

    // With the id of a user's message, `regenerate()` replaces the answer to that message.
    await chat.regenerate({ messageId: idOf(chat, 'A') });
    expect((await messages()).map(textOf)).toEqual(['A', 'And one more.']);
    expect(chat.error).toBeUndefined();
  },
);

test.for(places)(
  '%s: an edit or another answer that a guard refuses leaves the conversation as it was',
  async (place) => {
    let isClosed = false;
    const guard = inputGuard('guard', (input) => {
      if (isClosed) throw new AgentError('GUARD_REJECTED', 'Too many requests.');
      return input;
    });
    const use = [guard];
    const { chat: open, messages } = boundEndpoint(place, ['One.', 'Two.', 'New.'], { use });
    const chat = open();
    for (const text of ['A', 'B']) await chat.sendMessage({ text });
    const first = idOf(chat, 'A');
    isClosed = true;
    await chat.regenerate();
    expect((await messages()).map(textOf)).toEqual(['A', 'One.', 'B', 'Two.']);
    chat.messages = await messages();
    await chat.sendMessage({ text: 'A, rather', messageId: first });
    expect((await messages()).map(textOf)).toEqual(['A', 'One.', 'B', 'Two.']);
    chat.messages = await messages();
    isClosed = false;
    await chat.sendMessage({ text: 'A, rather', messageId: first });
    expect((await messages()).map(textOf)).toEqual(['A, rather', 'New.']);
  },
);

test.for(places)(
  '%s: an edited message replaces the old message and all later messages',
  async (place) => {
    const {
      chat: open,
      messages,
      model,
    } = boundEndpoint(place, ['One.', 'Two.', 'Three.', 'New.']);
    const chat = open();
    for (const text of ['A', 'B', 'C']) await chat.sendMessage({ text });
    await chat.sendMessage({ text: 'B, rather', messageId: idOf(chat, 'B') });
    expect(chat.texts).toEqual(['A', 'One.', 'B, rather', 'New.']);
    const stored = await messages();
    expect(stored.map(textOf)).toEqual(chat.texts);
    expect(stored[2]!.id).toBe(chat.messages[2]!.id);
    expect(rolesOf(model.requests.at(-1)!.messages)).toBe('user assistant user');
  },
);

test.for(places)(
  '%s: a reloaded page can regenerate and edit messages by their ids',
  async (place) => {
    const { chat: open, messages } = boundEndpoint(place, ['One.', 'Two.', 'Two again.', 'New.']);
    const first = open();
    for (const text of ['A', 'B']) await first.sendMessage({ text });
    const chat = open({ messages: await messages() });
    await chat.regenerate({ messageId: idOf(chat, 'Two.') });
    expect((await messages()).map(textOf)).toEqual(['A', 'One.', 'B', 'Two again.']);
    await chat.sendMessage({ text: 'A, rather', messageId: idOf(chat, 'A') });
    expect((await messages()).map(textOf)).toEqual(['A, rather', 'New.']);
  },
);

test.for(places)(
  '%s: regenerate() replaces the answer to the user’s message, not to a message that the agent added with the role user',
  async (place) => {
    const use = [textToolCalls()];
    const bound = boundEndpoint(place, [' ', 'One.', ' ', 'One again.', 'Again, and by nothing.'], {
      use,
    });
    const chat = bound.chat();
    await chat.sendMessage({ text: 'A' });
    await chat.regenerate();
    expect(
      bound.model.requests.map(
        ({ messages }) => messages.filter(({ role }) => role === 'user').length,
      ),
    ).toEqual([1, 2, 1, 2]);
    expect((await bound.messages()).map(textOf)).toEqual(['A', 'One again.']);

    // A request without a message id means the last answer.
    const echo = (chat.messages.at(-1)!.metadata as { readonly echo?: string }).echo;
    const headers = echo === undefined ? {} : { 'x-isoloop-echo': echo };
    await (
      await bound.post(
        '/api/chat',
        { id: bound.id, messages: [], trigger: 'regenerate-message' },
        bound.user,
        headers,
      )
    ).text();
    expect((await bound.messages()).map(textOf)).toEqual(['A', 'Again, and by nothing.']);
    expect(bound.model.requests.at(-1)!.messages.filter(({ role }) => role === 'user').length).toBe(
      1,
    );
  },
);

test.for(places)(
  '%s: the endpoint regenerates an answer by its id alone, and rejects an unknown id',
  async (place) => {
    const bound = boundEndpoint(place, ['One.', 'Two.', 'One again.']);
    const chat = bound.chat();
    for (const text of ['A', 'B']) await chat.sendMessage({ text });
    const echo = (chat.messages.at(-1)!.metadata as { readonly echo?: string }).echo;
    const headers = echo === undefined ? {} : { 'x-isoloop-echo': echo };
    const again = (messageId: string): Promise<Response> =>
      bound.post(
        '/api/chat',
        { id: bound.id, messages: [], trigger: 'regenerate-message', messageId },
        bound.user,
        headers,
      );
    const before = await bound.messages();
    const unknown = await again('nobody');
    expect([unknown.status, await unknown.json()]).toMatchObject([
      400,
      { error: { code: 'INVALID_INPUT' } },
    ]);
    expect((await bound.messages()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    await (await again(before[1]!.id)).text();
    expect((await bound.messages()).map(textOf)).toEqual(['A', 'One again.']);
  },
);

test.for(places)(
  '%s: an approval that useChat posts on its own continues the answer',
  async (place) => {
    const bound = boundEndpoint(place, [wantsToPay, 'Paid.'], { tools: [pay] });
    const chat = bound.chat({
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await chat.sendMessage({ text: 'Pay' });
    expect(toolsOf(chat)).toMatchObject([{ state: 'approval-requested', approval: { id: 'c1' } }]);
    await chat.addToolApprovalResponse({ id: 'c1', approved: true });
    await expect.poll(() => chat.texts).toEqual(['Pay', 'Paid.']);
    expect(toolsOf(chat)).toMatchObject([{ state: 'output-available', output: 'paid 5' }]);
    expect((await bound.messages()).map(textOf)).toEqual(['Pay', 'Paid.']);
    expect(paid).toEqual([5]);
  },
);

test.for(places)('%s: a tool result from the page continues the answer', async (place) => {
  const bound = boundEndpoint(
    place,
    [{ toolCalls: [{ id: 'c2', name: 'color', input: {} }] }, 'Blue, then.'],
    { tools: [color] },
  );
  const chat = bound.chat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
  await chat.sendMessage({ text: 'Paint' });
  await chat.addToolOutput({ tool: 'color', toolCallId: 'c2', output: { name: 'blue' } });
  await expect.poll(() => chat.texts).toEqual(['Paint', 'Blue, then.']);
  expect(JSON.stringify(bound.model.requests[1]!.messages.at(-1)!.content)).toContain('blue');
});

test.for(places)(
  '%s: editing or regenerating removes a waiting call, and a later approval of that call has no effect',
  async (place) => {
    const bound = boundEndpoint(
      place,
      [wantsToPay, { toolCalls: [{ id: 'c9', name: 'pay', input: { sum: 1 } }] }, 'Hello.'],
      {
        tools: [pay],
      },
    );
    const chat = bound.chat();
    await chat.sendMessage({ text: 'Pay' });
    const old: UIMessage = chat.messages[1]!;
    await chat.regenerate();
    expect(toolsOf(chat)).toMatchObject([{ toolCallId: 'c9', state: 'approval-requested' }]);
    await chat.sendMessage({ text: 'Hi', messageId: idOf(chat, 'Pay') });
    expect(chat.texts).toEqual(['Hi', 'Hello.']);
    const echo = (chat.messages.at(-1)!.metadata as { readonly echo?: string }).echo;
    const approved = {
      ...old,
      metadata: { echo },
      parts: old.parts.map((part) => ({
        ...part,
        state: 'approval-responded',
        approval: { id: 'c1', approved: true },
      })),
    };
    const replayed = await bound.post('/api/chat', {
      id: bound.id,
      messages: [approved],
      messageId: old.id,
    });
    expect([replayed.status, await replayed.json()]).toMatchObject([
      400,
      { error: { code: 'INVALID_DECISION' } },
    ]);
    expect((await bound.messages()).map(textOf)).toEqual(['Hi', 'Hello.']);
    expect(paid).toEqual([]);
  },
);

test.for(places)(
  '%s: edited arguments of an approved call reach the model, the page, the events and the history',
  async (place) => {
    const edit = { type: 'edit', input: { sum: 7 } } as const;
    const agentOptions = { tools: [pay], use: [approvals({ decide: () => edit })] };
    const replies = [wantsToPay, 'Done.'];
    const { chat: open, messages, model } = boundEndpoint(place, replies, agentOptions);
    const chat = open();
    await chat.sendMessage({ text: 'Pay.' });
    const part = { state: 'output-available', input: { sum: 7 }, output: 'paid 7' };
    expect(toolsOf(chat)).toMatchObject([part]);
    expect(JSON.stringify(model.requests[1]!.messages)).toContain('{"sum":7}');
    const stored = (await messages()).flatMap(({ parts }) => parts);
    expect(stored.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([part]);
    expect(JSON.stringify(stored)).not.toContain('"sum":5');

    const other = boundEndpoint(place, replies, agentOptions);
    const events = await (
      await other.post('/api/run', { sessionId: other.id, input: 'Pay.' })
    ).text();
    const told = events.split('\n').filter((line) => line.includes('"pre-acting"'));
    expect(told.map((line) => /"input":\{"sum":(\d)\}/.exec(line)?.[1])).toEqual(['5', '7']);
  },
);

test.for(places)(
  '%s: a rejection by a hook reaches the client and stores nothing; a misused control fails with CONFIGURATION',
  async (place) => {
    const rejects = {
      on: { 'pre-call': ({ reject }: Rejecting) => reject('No.') },
    };
    const refusing = boundEndpoint(place, ['Never.'], { use: [rejects] });
    const chat = refusing.chat();
    await chat.sendMessage({ text: 'the secret' });
    expect(chat.messages.at(-1)).toMatchObject({
      role: 'assistant',
      metadata: { reason: 'rejected', code: 'HOOK_REJECTED' },
    });
    expect(chat.texts.at(-1)).toBe('No.');
    expect(refusing.model.requests).toEqual([]);
    expect(await refusing.messages()).toEqual([]);
    const run = await refusing.post('/api/run', { sessionId: refusing.id, input: 'the secret' });
    expect(await run.text()).toContain('"code":"HOOK_REJECTED"');

    const misuses = {
      on: { 'post-call': (event: object) => stopOf(event)() },
    };
    const wrong = boundEndpoint(place, ['Done.'], { use: [misuses] });
    const failing = wrong.chat();
    await failing.sendMessage({ text: 'Hi' });
    expect(String(failing.error)).toContain('CONFIGURATION');
  },
);

test.for(places)(
  '%s: files, data parts, a denied call and usage are the same live and after a reload',
  async (place) => {
    const draw = tool({
      name: 'draw',
      description: 'Draws',
      input: { type: 'object' },
      execute: (_, { emit }) => {
        emit({ type: 'data-progress', data: 0.5, transient: true });
        emit({ type: 'data-chart', id: 'chart', data: { points: [1] } });
        emit({ type: 'data-chart', id: 'chart', data: { points: [1, 2] } });
        const source = { type: 'base64', mediaType: 'image/png', data: 'QUJD' } as const;
        return { content: [{ type: 'image', source }] };
      },
    });
    const toolCalls = [
      { id: 'c1', name: 'draw' },
      { id: 'c2', name: 'pay', input: { sum: 5 } },
    ];
    const bound = boundEndpoint(place, [{ toolCalls }, 'Drawn.'], {
      tools: [draw, pay],
      use: [keepDataParts()],
    });
    const seen: unknown[] = [];
    const chat = bound.chat({
      onData: (part) => seen.push(part.data),
      sendAutomaticallyWhen: hasApprovalResponse,
    });
    await chat.sendMessage({ text: 'Draw and pay' });
    await chat.addToolApprovalResponse({ id: 'c2', approved: false, reason: 'No.' });
    await expect.poll(() => chat.texts.at(-1)).toBe('Drawn.');
    await expect.poll(() => chat.status).toBe('ready');
    expect(chat.error).toBeUndefined();
    expect(seen).toEqual([0.5, { points: [1] }, { points: [1, 2] }]);
    const live = chat.messages.at(-1)!;
    const stored = (await bound.messages()).at(-1)!;
    for (const message of [live, stored])
      expect(message.parts).toMatchObject([
        { type: 'step-start' },
        { toolName: 'draw', state: 'output-available' },
        { toolName: 'pay', state: 'output-denied', approval: { approved: false, reason: 'No.' } },
        { type: 'data-chart', id: 'chart', data: { points: [1, 2] } },
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,QUJD' },
        { type: 'step-start' },
        { type: 'text', text: 'Drawn.' },
      ]);
    expect(stored.metadata).toMatchObject({ usage: { inputTokens: 20, outputTokens: 10 } });
    expect(live.metadata).toHaveProperty('usage.outputTokens');
    expect(paid).toEqual([]);
  },
);
