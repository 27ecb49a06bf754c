import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { AgentError, InMemoryMemory, ReActAgent, tool, userMessage } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { createAgentHandler } from '../handler/agent-handler.ts';
import { boundTo, factories, sessions, type SessionEnv } from '../../test-support/agent-session.ts';
import {
  ask,
  codeOf,
  gate,
  given,
  leaveAt,
  open,
  read,
  textOf,
} from '../../test-support/session-client.ts';
import { fakeDate } from '@test/clock/fake-date.ts';
import { rolesOf } from '@test/roles-of.ts';
import { identityVersion } from './identity.ts';
import { killBusyObject, killObject, killObjects } from '../../test-support/kill-objects.ts';

test('a session streams its answers, keeps them across evictions, and shows them only to its user', async () => {
  const session = open([
    { toolCalls: [{ name: 'clock' }] },
    'It is noon.',
    'You asked for the time.',
  ]);
  const answer = await session.chat([ask('What time is it?')]);
  expect(answer.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
    { toolName: 'clock', output: '12:00' },
  ]);
  expect(textOf(answer)).toBe('It is noon.');
  await killObject(session.stub);
  await session.chat([ask('What did I ask?')]);
  expect(rolesOf(session.script.model.requests.at(-1)!.messages)).toBe(
    'user assistant tool assistant user',
  );
  expect((await session.messages()).map(textOf)).toEqual([
    'What time is it?',
    'It is noon.',
    'What did I ask?',
    'You asked for the time.',
  ]);
  const other = await session.send(`/api/chat/${session.id}/messages`, {}, 'bob');
  expect([await other.json(), other.headers.get('x-request-id')]).toEqual([
    { messages: [] },
    expect.any(String),
  ]);
});

test('a session whose host has a memory of its own shows a conversation that began elsewhere', async () => {
  const { stub } = open([]);
  const shared = new InMemoryMemory([userMessage('Asked in a tab.')]);
  const host = createAgentHandler<SessionEnv>({
    agent: () => new ReActAgent({ name: 'unused', model: new ScriptedModel([]) }),
    memory: () => shared,
  });
  const shown = await runInDurableObject(stub, async (_, state) => {
    const session = new host.Session(state, given);
    const asked = { user: 'ann', session: 'moved', requestId: 'r', command: { type: 'messages' } };
    const body = JSON.stringify(asked);
    const response = await session.fetch(new Request('http://object/', { method: 'POST', body }));
    return (await response.json()) as { readonly messages: UIMessage[] };
  });
  expect(shown.messages.map(textOf)).toEqual(['Asked in a tab.']);
});

test('a session whose host has a memory of its own accepts a decision about a tool call that began elsewhere', async () => {
  const { stub } = open([]);
  const shared = new InMemoryMemory();
  const begin = (script: ScriptedModel) =>
    new ReActAgent({
      name: 'drawer',
      model: script,
      memory: shared,
      tools: [
        tool({
          name: 'draw',
          description: '',
          input: z.object({}),
          needsApproval: true,
          execute: () => 'Ann',
        }),
      ],
    });
  await begin(new ScriptedModel([{ toolCalls: [{ name: 'draw' }] }])).call('Draw in a tab.');
  const host = createAgentHandler<SessionEnv>({
    agent: () => begin(new ScriptedModel(['Ann.'])),
    memory: () => shared,
  });
  const answer = await runInDurableObject(stub, async (_, state) => {
    const session = new host.Session(state, given);
    const decisions = [{ type: 'approve', toolUseId: 'call_1' }];
    const decided = { kind: 'decisions', decisions, messageId: 'answer' };
    const turn = { request: decided, model: 'default', messageId: 'answer', requestId: 'r' };
    const command = { type: 'turn', turn, format: { kind: 'ui', events: false } };
    const asked = { user: 'ann', sessionId: 'moved', requestId: 'r', command };
    const body = JSON.stringify(asked);
    const response = await session.fetch(new Request('http://object/', { method: 'POST', body }));
    return response.text();
  });
  expect(answer).toContain('"delta":"Ann."');
});

test('a session whose host has an empty memory of its own does not begin with a decision', async () => {
  const { stub } = open([]);
  const host = createAgentHandler<SessionEnv>({
    agent: () => new ReActAgent({ name: 'unused', model: new ScriptedModel([]) }),
    memory: () => new InMemoryMemory(),
  });
  const [response, stored] = await runInDurableObject(stub, async (_, state) => {
    const session = new host.Session(state, given);
    const decisions = [{ type: 'approve', toolUseId: 'call_1' }];
    const decided = { kind: 'decisions', decisions, messageId: 'answer' };
    const turn = { request: decided, model: 'default', messageId: 'answer', requestId: 'r' };
    const command = { type: 'turn', turn, format: { kind: 'ui', events: false } };
    const asked = { user: 'ann', sessionId: 'nowhere', requestId: 'r', command };
    const body = JSON.stringify(asked);
    const refused = await session.fetch(new Request('http://object/', { method: 'POST', body }));
    return [await refused.text(), [...(await state.storage.list())]];
  });
  expect(response).toContain('INVALID_DECISION');
  expect(stored).toEqual([]);
});

test('a session queues the second of two concurrent requests, and each request uses its own model', async () => {
  const first = gate();
  const session = open([{ wait: first.passed, text: 'One.' }, 'Two.']);
  const one = session.post('/api/chat', { id: session.id, messages: [ask('A')], model: 'other' });
  await (await one).body!.cancel();
  const two = await session.post('/api/chat', { id: session.id, messages: [ask('B')] });
  expect(session.script.model.requests.length).toBe(1);
  first.open();
  expect(await two.text()).toContain('Two.');
  expect((await session.messages()).map(textOf)).toEqual(['A', 'One.', 'B', 'Two.']);
  expect(session.script.models).toEqual(['other', 'offline']);
});

test('a session queues and stores a message that is larger than a row of the database', async () => {
  const first = gate();
  const long = '旅a😀'.repeat(300_000);
  const session = open([{ wait: first.passed, text: 'One.' }, 'Long.']);
  await (await session.post('/api/chat', { id: session.id, messages: [ask('A')] })).body!.cancel();
  await (await session.post('/api/chat', { id: session.id, messages: [ask(long)] })).body!.cancel();
  first.open();
  await expect.poll(async () => (await session.messages()).length).toBe(4);
  expect(textOf((await session.messages())[2]) === long).toBe(true);
});

test('a queued request that cannot begin reports its error in the stream', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const first = gate();
  const session = open([{ wait: first.passed, text: 'One.' }]);
  await (await session.post('/api/chat', { id: session.id, messages: [ask('A')] })).body!.cancel();
  const made = factories.get(session.id)!;
  factories.set(session.id, () => {
    throw new AgentError('CONFIGURATION', 'sk-secret');
  });
  const two = await session.post('/api/chat', { id: session.id, messages: [ask('B')] });
  first.open();
  const text = await two.text();
  expect(text).toContain('[CONFIGURATION]');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(text).not.toContain('sk-secret');
  expect(
    await codeOf(await session.post('/api/chat', { id: session.id, messages: [ask('C')] })),
  ).toEqual([500, 'CONFIGURATION']);
  factories.set(session.id, made);
  expect((await session.messages()).map(textOf)).toEqual(['A', 'One.']);
  log.mockRestore();
});

test('regenerating or editing a message removes all later messages', async () => {
  const session = open(['First.', 'Second.', 'Third.', 'Fourth.']);
  const question = ask('Say something');
  const first = await session.chat([question]);
  expect(textOf(await session.chat([question], 'regenerate-message'))).toBe('Second.');
  await session.chat([question, first, ask('More')]);
  await session.chat([ask('Say something else', question.id)]);
  expect((await session.messages()).map(textOf)).toEqual(['Say something else', 'Fourth.']);
});

test('regenerating in an empty session fails and stores nothing', async () => {
  const session = open([]);
  const nothing = await session.post('/api/chat', {
    id: session.id,
    messages: [],
    trigger: 'regenerate-message',
  });
  expect(await codeOf(nothing)).toEqual([400, 'INVALID_INPUT']);
  expect((await session.send(`/api/chat/${session.id}/stream`)).status).toBe(204);
  expect((await session.send(`/api/chat/${session.id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await session.messages()).toEqual([]);
  const tables = await runInDurableObject(session.stub, (_, { storage }) => [
    ...storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'isoloop%'"),
  ]);
  expect(tables).toEqual([]);
});

test('the alarm continues a run whose isolate died, and readers get its earlier text again', async () => {
  let ran = 0;
  const note = tool({
    name: 'note',
    description: 'Notes',
    input: z.object({}),
    execute: () => `noted ${++ran}`,
  });
  const rest = gate();
  const session = open(
    [
      { thinking: 'Hm.', text: 'First I note.', toolCalls: [{ name: 'note' }] },
      { text: 'Half an ', hang: true },
      { wait: rest.passed, text: 'Whole.' },
    ],
    { tools: [note] },
  );
  await leaveAt(session, ask('Note it'), 'Half an');
  await killBusyObject(session.stub);
  expect(await runDurableObjectAlarm(session.stub)).toBe(true);
  const stream = (await session.transport.reconnectToStream({ chatId: session.id }))!;
  const shown = await session.messages();
  rest.open();
  const answer = await read(stream);
  expect(
    answer.parts.map((part) =>
      'text' in part ? part.text : 'output' in part ? part.output : part.type,
    ),
  ).toEqual(['step-start', 'Hm.', 'First I note.', 'noted 1', 'step-start', 'Whole.']);
  // The stream has the id of the last message, so a page replaces that message.
  expect(shown.map(({ id }) => id)).toEqual([shown[0]!.id, answer.id]);
  expect((await session.messages()).map(textOf)).toEqual(['Note it', 'First I note.Whole.']);
  expect(ran).toBe(1);
});

test('requests that waited when the isolate died are answered in their order, once each', async () => {
  const session = open([{ text: 'Half an ', hang: true }, 'One.', 'Two.', 'Three.']);
  await leaveAt(session, ask('A'), 'Half an');
  const [, third] = await Promise.all(
    ['B', 'C'].map(async (text) =>
      (await session.post('/api/chat', { id: session.id, messages: [ask(text)] })).body!.cancel(),
    ),
  );
  expect(third).toBeUndefined();
  await killBusyObject(session.stub);
  // Any request wakes the object, too, not only the alarm.
  await session.messages();
  await expect
    .poll(async () => (await session.messages()).map(textOf))
    .toEqual(['A', 'One.', 'B', 'Two.', 'C', 'Three.']);
});

test('a session gives up a run whose isolate dies several times, and stays usable', async () => {
  const session = open([
    { toolCalls: [{ name: 'clock' }] },
    ...Array.from({ length: 4 }, () => ({ text: 'Half an ', hang: true })),
    'Well.',
  ]);
  await leaveAt(session, ask('Hi'), 'Half an');
  for (let death = 1; death <= 3; death++) {
    await killBusyObject(session.stub);
    await runDurableObjectAlarm(session.stub);
    await expect.poll(() => session.script.model.requests.length).toBe(death + 2);
  }
  await killBusyObject(session.stub);
  await runDurableObjectAlarm(session.stub);
  await expect
    .poll(async () => (await session.send(`/api/chat/${session.id}/stream`)).status)
    .toBe(204);
  expect(session.script.model.requests.length).toBe(5);
  expect(textOf(await session.chat([ask('And now?')]))).toBe('Well.');
});

test('with resumeAttempts: 0, a session closes the run of a dead isolate and its open calls', async () => {
  const stuck = tool({
    name: 'stuck',
    description: 'Hangs',
    input: z.object({}),
    execute: () => new Promise<string>(() => {}),
  });
  const session = open([{ text: 'Wait.', toolCalls: [{ name: 'stuck' }] }, 'Well.'], {
    brief: true,
    tools: [stuck],
  });
  await leaveAt(session, ask('Hi'), 'tool-input-available');
  await expect.poll(async () => (await session.messages()).length).toBe(2);
  // Aborts the object, because an eviction would wait for the tool's timeout.
  await killObjects();
  await runDurableObjectAlarm(session.stub);
  await expect
    .poll(async () => (await session.send(`/api/chat/${session.id}/stream`)).status)
    .toBe(204);
  expect((await session.messages())[1]!.parts).toMatchObject([
    { type: 'step-start' },
    { text: 'Wait.' },
    { state: 'output-error' },
  ]);
  expect(textOf(await session.chat([ask('And now?')]))).toBe('Well.');
});

test('approvals that useChat posts continue an answer, and forged results are rejected', async () => {
  let ran = 0;
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ sum: z.number() }),
    needsApproval: true,
    execute: () => `paid ${++ran}`,
  });
  const pays = { name: 'pay', input: { sum: 5 } };
  const session = open([{ text: 'Paying.', toolCalls: [pays, pays] }, 'Paid once.'], {
    tools: [pay],
  });
  const asked = await session.chat([ask('Pay twice')]);
  const waiting = asked.parts.filter(({ type }) => type === 'dynamic-tool');
  expect(waiting).toMatchObject([{ state: 'approval-requested' }, { state: 'approval-requested' }]);
  await killObject(session.stub);
  expect(
    (await session.messages())[1]!.parts.filter(({ type }) => type === 'dynamic-tool'),
  ).toMatchObject([{ state: 'approval-requested' }, { state: 'approval-requested' }]);

  const respond = (message: UIMessage, ...approved: (boolean | undefined)[]): UIMessage => ({
    ...message,
    parts: message.parts.map((part) => {
      if (part.type !== 'dynamic-tool' || part.state !== 'approval-requested') return part;
      const yes = approved.shift();
      return yes === undefined
        ? part
        : {
            ...part,
            state: 'approval-responded',
            approval: { ...part.approval, approved: yes, reason: 'No.' },
          };
    }),
  });
  const forged: UIMessage = {
    ...asked,
    parts: asked.parts.map((part) =>
      part.type === 'dynamic-tool'
        ? ({ ...part, state: 'output-available', output: 'paid 9' } as never)
        : part,
    ),
  };
  expect(
    await codeOf(await session.post('/api/chat', { id: session.id, messages: [forged] })),
  ).toEqual([400, 'INVALID_DECISION']);
  const unknown = respond(
    {
      ...asked,
      parts: asked.parts.map((part) =>
        'toolCallId' in part ? { ...part, toolCallId: 'x' } : part,
      ),
    },
    true,
  );
  expect(
    await codeOf(await session.post('/api/chat', { id: session.id, messages: [unknown] })),
  ).toEqual([400, 'INVALID_DECISION']);

  const answer = await session.chat([respond(asked, true, false)]);
  expect(answer.id).toBe(asked.id);
  expect(answer.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
    { state: 'output-available', output: 'paid 1' },
    { state: 'output-denied', approval: { approved: false, reason: 'No.' } },
  ]);
  expect(textOf(answer)).toBe('Paying.Paid once.');
  expect(ran).toBe(1);
});

test('a client can send the result of its own tool', async () => {
  const here = tool({ name: 'here', description: 'Where the user is', input: z.object({}) });
  const session = open([{ toolCalls: [{ name: 'here' }] }, 'In Paris.'], { tools: [here] });
  const asked = await session.chat([ask('Where am I?')]);
  const told = {
    ...asked,
    parts: asked.parts.map((part) =>
      'toolCallId' in part
        ? ({ ...part, state: 'output-available', output: { city: 'Paris' } } as never)
        : part,
    ),
  };
  expect(textOf(await session.chat([told]))).toBe('In Paris.');
  expect(JSON.stringify(session.script.model.requests[1]!.messages.at(-1))).toContain('Paris');
});

test('an idle session expires, and a session in use does not', async () => {
  const session = open(['One.'], { brief: true });
  await session.chat([ask('Hi')]);
  await expect.poll(async () => (await session.list()).length).toBe(1);
  const alarm = (): Promise<number | null> =>
    runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm());
  await expect.poll(alarm).toBeGreaterThan(Date.now() + 3_000_000);
  await runDurableObjectAlarm(session.stub);
  expect((await session.messages()).length).toBe(2);
  const date = fakeDate(Date.now() + 3_700_000);
  await runDurableObjectAlarm(session.stub);
  date.restore();
  expect(await session.messages()).toEqual([]);
  expect(await session.list()).toEqual([]);
  expect(await alarm()).toBeNull();
});

test('a rejected decision does not move a session in the list and does not delay its expiry', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({}),
    needsApproval: true,
    execute: () => 'paid',
  });
  const session = open([{ toolCalls: [{ name: 'pay', id: 'c1' }] }], { brief: true, tools: [pay] });
  await session.chat([ask('Pay')]);
  const changed = (): Promise<unknown> =>
    runInDurableObject(session.stub, (_, { storage: { sql } }) =>
      sql.exec('SELECT MAX(changed_at) AS at, MAX(bytes) AS bytes FROM isoloop_queue').one(),
    );
  await expect.poll(changed).toEqual({ at: expect.any(Number), bytes: null });
  const before = await changed();
  await expect
    .poll(async () =>
      (await session.list()).map(({ updatedAt }) => ({ at: updatedAt, bytes: null })),
    )
    .toEqual([before]);
  const listed = await session.list();
  const began = Date.now();
  const date = fakeDate(began + 1_800_000);
  const refused = await session.run({ decisions: [{ type: 'approve', toolUseId: 'x' }] });
  expect(await codeOf(refused)).toEqual([400, 'INVALID_DECISION']);
  expect(await changed()).toEqual(before);
  expect(await session.list()).toEqual(listed);
  date.set(began + 3_700_000);
  await runDurableObjectAlarm(session.stub);
  date.restore();
  expect(await session.list()).toEqual([]);
});

test('the alarm keeps a running answer alive and does not start it again', async () => {
  const rest = gate();
  const session = open([[{ text: 'Half an ' }, { wait: rest.passed, text: 'answer.' }]]);
  await leaveAt(session, ask('Hi'), 'Half an');
  const alarm = (): Promise<number | null> =>
    runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm());
  for (let beat = 0; beat < 3; beat++) {
    expect(await alarm()).toBeLessThanOrEqual(Date.now() + 30_000);
    expect(await runDurableObjectAlarm(session.stub)).toBe(true);
  }
  expect(await alarm()).not.toBeNull();
  rest.open();
  await expect
    .poll(async () => (await session.messages()).map(textOf))
    .toEqual(['Hi', 'Half an answer.']);
  expect(session.script.model.requests.length).toBe(1);
});

test('a request fails with a code if the Durable Object cannot be reached', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  for (const [failure, expected] of [
    [Object.assign(new Error('busy at 10.0.0.1'), { overloaded: true }), [503, 'OVERLOADED', '10']],
    [new Error('reset at 10.0.0.1'), [503, 'STORAGE_FAILED', null]],
  ] as const) {
    const objects = {
      idFromName: (name: string) => name,
      get: () => ({ fetch: () => Promise.reject(failure) }),
    };
    const request = new Request('https://edge.test/api/chat/a/messages', {
      headers: { authorization: 'Bearer ann' },
    });
    const response = await sessions.fetch(
      request,
      boundTo(given, objects as never),
      createExecutionContext(),
    );
    expect(await response.clone().text()).not.toContain('10.0.0.1');
    expect([...(await codeOf(response)), response.headers.get('retry-after')]).toEqual(expected);
  }
  log.mockRestore();
});

test('a session whose object has another format is refused with a code, and nothing is written', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open(['Hello.']);
  await session.chat([ask('Hi')]);
  await killObject(session.stub);
  const change = (v: number) =>
    runInDurableObject(session.stub, (_, { storage }) => {
      storage.kv.put('identity', { ...storage.kv.get<object>('identity'), v });
    });
  const stored = () =>
    runInDurableObject(session.stub, async (_, { storage }) => [
      [...storage.kv.list()],
      [...storage.sql.exec('SELECT turn, piece, changed_at FROM isoloop_queue')],
      await storage.getAlarm(),
    ]);
  await change(identityVersion + 1);
  await killObject(session.stub);
  const before = await stored();
  for (const response of [
    await session.post('/api/chat', { id: session.id, messages: [ask('Again')] }),
    await session.send(`/api/chat/${session.id}/messages`),
    await session.send(`/api/chat/${session.id}`, { method: 'DELETE' }),
  ])
    expect(await codeOf(response)).toEqual([503, 'STORAGE_FAILED']);
  expect(await stored()).toEqual(before);
  await change(identityVersion);
  await killObject(session.stub);
  expect((await session.messages()).map(textOf)).toEqual(['Hi', 'Hello.']);
  log.mockRestore();
});

test('the session also closes the agent of a rejected request', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const close = vi.fn(async () => {});
  const session = open(['Hello.'], { parts: { close } });
  await session.chat([ask('Hi')]);
  expect(close).toHaveBeenCalledTimes(1);
  const again = { id: session.id, messages: [], trigger: 'regenerate-message', messageId: 'none' };
  expect((await codeOf(await session.post('/api/chat', again)))[0]).toBe(400);
  expect(close).toHaveBeenCalledTimes(2);
  log.mockRestore();
});

test('a session whose expiry fails keeps its data and tries again later', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const forget = (): Promise<void> => Promise.reject(new AgentError('STORAGE_FAILED', 'not now'));
  const session = open(['One.'], { brief: true, parts: { deleteSession: forget } });
  await session.chat([ask('Hi')]);
  await expect.poll(async () => (await session.list())[0]?.title).toBe('Hi');
  const later = Date.now() + 3_700_000;
  const date = fakeDate(later);
  await runDurableObjectAlarm(session.stub);
  const alarm = await runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm());
  date.restore();
  expect(alarm).toBe(later + 600_000);
  expect((await session.messages()).length).toBe(2);
  log.mockRestore();
});

test('a session that never expires has no alarm while it is idle', async () => {
  const session = open(['One.']);
  await session.chat([ask('Hi')]);
  await expect
    .poll(() => runInDurableObject(session.stub, (_, { storage }) => storage.getAlarm()))
    .toBeNull();
});
