import { AgentError, ReActAgent, tool } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { expect, test, vi } from 'vitest';
import { bindings, testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import { KvMemory } from '../kv/kv-memory.ts';
import { clock } from '../../test-support/plain-tools.ts';

const ran: string[] = [];
const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => (ran.push('pay'), 'paid'),
});
const ask = tool({ name: 'ask', description: 'Asks the user', input: { type: 'object' } });
const wantsToPay: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'pay', input: { amount: 1 } }] };

type PublicEvent = Readonly<Record<string, unknown>> & { readonly type: string };

let sessions = 0;
const newSession = (): string => `run-${++sessions}-${crypto.randomUUID()}`;

async function eventsOf(
  target: TestEndpoint,
  body: object,
  user = 'ann',
): Promise<readonly PublicEvent[]> {
  const response = await target.post('/api/run', body, user);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream',
  ]);
  const data: string[] = [];
  const events = response
    .body!.pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(new EventSourceParserStream());
  for await (const event of events as AsyncIterable<{ readonly data: string }>)
    data.push(event.data);
  expect(data.pop()).toBe('[DONE]');
  await target.settled();
  return data.map((text) => JSON.parse(text) as PublicEvent);
}

async function refusalOf(target: TestEndpoint, body: object, user = 'ann'): Promise<unknown[]> {
  const response = await target.post('/api/run', body, user);
  const { error } = (await response.json()) as { readonly error: { readonly code: string } };
  return [response.status, error.code];
}

test('/api/run streams the agent’s events, without the prompts', async () => {
  const replies: ScriptedReply[] = [
    { toolCalls: [{ id: 'c1', name: 'clock', input: { city: '서울' } }] },
    'It is noon.',
  ];
  const target = testEndpoint(replies, { tools: [clock], systemPrompt: 'A secret prompt.' });
  const sessionId = newSession();
  const events = await eventsOf(target, { sessionId, input: 'What time is it?' });
  expect(events[0]!.type).toBe('run-start');
  expect(events.find(({ type }) => type === 'pre-acting')).toMatchObject({
    name: 'clock',
    input: { city: '서울' },
  });
  expect(events.find(({ type }) => type === 'post-acting')).toMatchObject({
    output: '12:00',
    state: 'success',
  });
  const text = events.filter(({ type }) => type === 'reasoning-chunk').map(({ delta }) => delta);
  expect(text.join('')).toBe('It is noon.');
  expect(events.at(-1)).toMatchObject({ type: 'run-end', reason: 'stop', text: 'It is noon.' });
  const seqs = events.map(({ seq }) => seq as number);
  expect(seqs).toEqual(seqs.toSorted((left, right) => left - right));
  expect(JSON.stringify(events)).not.toMatch(/secret prompt|"parameters"/);
  const { messages } = (await (await target.get(`/api/chat/${sessionId}/messages`)).json()) as {
    messages: unknown[];
  };
  expect(messages.length).toBe(2);
});

test('/api/run accepts the approval of a waiting call once, and only from the session’s user', async () => {
  ran.length = 0;
  const target = testEndpoint(
    [wantsToPay, 'Paid.'],
    { tools: [pay] },
    { approvals: 'at-least-once' },
  );
  const sessionId = newSession();
  const events = await eventsOf(target, {
    sessionId,
    input: { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Pay' }] },
  });
  expect(events.at(-1)).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'c1', name: 'pay', kind: 'approval' }],
  });
  const approve = { sessionId, decisions: [{ type: 'approve', toolUseId: 'c1' }] };
  expect(await refusalOf(target, approve, 'bob')).toEqual([400, 'INVALID_DECISION']);
  expect(
    await refusalOf(target, {
      sessionId,
      decisions: [{ type: 'result', toolUseId: 'c1', output: 'paid' }],
    }),
  ).toEqual([400, 'INVALID_DECISION']);
  expect(
    await refusalOf(target, { sessionId, decisions: [{ type: 'approve', toolUseId: 'c2' }] }),
  ).toEqual([400, 'INVALID_DECISION']);
  expect(await refusalOf(target, { sessionId, input: 'Approved!' })).toEqual([
    409,
    'PENDING_TOOL_CALLS',
  ]);
  expect(ran).toEqual([]);
  expect((await eventsOf(target, approve)).at(-1)).toMatchObject({ reason: 'stop', text: 'Paid.' });
  expect(await refusalOf(target, approve)).toEqual([400, 'INVALID_DECISION']);
  expect(ran).toEqual(['pay']);
});

test('a call that /api/run rejects does not run, and the model gets the reason', async () => {
  ran.length = 0;
  const target = testEndpoint(
    [wantsToPay, 'Then not.'],
    { tools: [pay] },
    { approvals: 'at-least-once' },
  );
  const sessionId = newSession();
  await eventsOf(target, { sessionId, input: 'Pay' });
  const events = await eventsOf(target, {
    sessionId,
    decisions: [{ type: 'reject', toolUseId: 'c1', reason: 'Too much' }],
  });
  expect(events.at(-1)).toMatchObject({ text: 'Then not.' });
  expect(JSON.stringify(target.model.requests[1]!.messages)).toContain('Too much');
  expect(ran).toEqual([]);
});

test('/api/run accepts the result of a call that the client runs, and no approval of that call', async () => {
  const target = testEndpoint([{ toolCalls: [{ id: 'c1', name: 'ask', input: {} }] }, 'Blue.'], {
    tools: [ask],
  });
  const sessionId = newSession();
  await eventsOf(target, { sessionId, input: 'Ask me' });
  expect(
    await refusalOf(target, { sessionId, decisions: [{ type: 'approve', toolUseId: 'c1' }] }),
  ).toEqual([400, 'INVALID_DECISION']);
  const events = await eventsOf(target, {
    sessionId,
    decisions: [{ type: 'result', toolUseId: 'c1', output: 'blue' }],
  });
  expect(events.at(-1)).toMatchObject({ reason: 'stop', text: 'Blue.' });
});

test('the first and the last event of /api/run have the echo (the session’s token), and a header accepts it', async () => {
  const target = testEndpoint(
    ['One.', 'Two.'],
    {},
    {},
    { ...bindings, SESSION_SECRET: 'x'.repeat(32) },
  );
  const sessionId = newSession();
  const events = await eventsOf(target, { sessionId, input: 'One?' });
  const echo = events.at(-1)!['echo'] as string;
  expect([typeof events[0]!['echo'], typeof echo]).toEqual(['string', 'string']);
  await (
    await target.post('/api/run', { sessionId, input: 'Two?' }, 'ann', { 'x-isoloop-echo': echo })
  ).text();
  expect(target.model.requests[1]!.messages.length).toBe(3);
});

test('/api/run with `id` names the field that a run has', async () => {
  const response = await testEndpoint([]).post('/api/run', { id: 'a', input: 'Hi' });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    {
      error: { message: expect.stringMatching(/^`id` is not supported\. Use: sessionId,/) },
    },
  ]);
});

test('/api/run reports the code of a failure without its message', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const error = new AgentError('MODEL_AUTH', 'Incorrect API key provided: sk-secret');
  const target = testEndpoint([{ text: 'Well, ', error }]);
  const events = await eventsOf(target, { sessionId: newSession(), input: 'Hi' });
  expect(events.map(({ type }) => type).slice(-2)).toEqual(['error', 'run-end']);
  expect(events.at(-2)).toMatchObject({ code: 'MODEL_AUTH' });
  expect(JSON.stringify(events)).not.toContain('sk-secret');
  log.mockRestore();
});

test('a run in KV gives its session a title, closes its agent, and does not repeat for a returning client', async () => {
  let closed = 0;
  const model = new ScriptedModel(['One.', 'Never.']);
  const target = testEndpoint(
    model,
    {},
    {
      agent: ({ memory, sessionId }) => ({
        agent: new ReActAgent({ name: 'assistant', model, memory, sessionId }),
        close: async () => void (closed += 1),
      }),
    },
  );
  const sessionId = newSession();
  const user = `ann-${sessionId}`;
  const text = await (
    await target.post('/api/run', { sessionId, input: 'What is one?' }, user)
  ).text();
  await target.settled();
  expect(closed).toBe(1);
  const { chats } = (await (await target.get('/api/chats', user)).json()) as { chats: object[] };
  expect(chats).toMatchObject([{ sessionId, title: 'What is one?' }]);
  const ids = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id!);
  const [, run] = /"runId":"([^"]+)"/.exec(text)!;
  expect(ids.at(-1)).toMatch(new RegExp(`^${run!.slice(-8)}:\\d+$`));
  const again = await target.post('/api/run', { sessionId, input: 'What is one?' }, user, {
    'last-event-id': ids[0]!,
  });
  expect([again.status, await again.text(), model.requests.length]).toEqual([204, '', 1]);
});

test('a renamed session keeps its title when a run continues from the session’s log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const target = testEndpoint([
    { text: 'Half ', error: new AgentError('MODEL_SERVER', 'down') },
    'Whole.',
  ]);
  const sessionId = newSession();
  const user = `ann-${sessionId}`;
  await (await target.post('/api/run', { sessionId, input: 'Hi' }, user)).text();
  await target.settled();
  await new KvMemory(bindings.CHAT_KV, `${user}/${sessionId}`).rename('My own');
  await (await target.post('/api/run', { sessionId }, user)).text();
  await target.settled();
  expect(target.model.requests.length).toBe(2);
  const { chats } = (await (await target.get('/api/chats', user)).json()) as { chats: object[] };
  expect(chats).toMatchObject([{ sessionId, title: 'My own' }]);
  log.mockRestore();
});
