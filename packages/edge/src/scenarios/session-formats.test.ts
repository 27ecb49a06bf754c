import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { AgentError, tool } from '@isoloop/core';
import type OpenAI from 'openai';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import {
  ask,
  codeOf,
  deltasIn,
  eventsIn,
  gate,
  leave,
  open,
  read,
  textOf,
} from '../../test-support/session-client.ts';
import { pay } from '../../test-support/plain-tools.ts';
import { killBusyObject, killObject } from '../../test-support/kill-objects.ts';

// These tests use `/api/run` and `/v1/chat/completions` with a session in a Durable Object. The
// Worker has no KV.

const here = tool({ name: 'here', description: 'Where the user is', input: z.object({}) });
const say = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content });
const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

test('a run, a completion and a chat continue one conversation, which the session list shows', async () => {
  const session = open([
    { toolCalls: [{ name: 'clock' }] },
    'Noon.',
    'You asked for the time.',
    'Twice now.',
  ]);
  const answer = await session.run({ input: 'What time is it?' });
  expect([
    answer.status,
    answer.headers.get('content-type'),
    answer.headers.get('x-request-id'),
  ]).toEqual([200, 'text/event-stream', expect.any(String)]);
  const text = await answer.text();
  const events = eventsIn(text);
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['run-start', 'pre-acting', 'post-acting', 'post-call']),
  );
  expect(events.at(-1)).toMatchObject({ type: 'run-end', reason: 'stop', text: 'Noon.' });
  expect(deltasIn(text)).toBe('Noon.');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  await killObject(session.stub);
  const completion = await session.openai.chat.completions.create({
    model: 'other',
    messages: [say('What did I ask?')],
  });
  expect(completion).toMatchObject({
    model: 'other',
    choices: [{ message: { content: 'You asked for the time.' } }],
  });
  expect(session.script.models).toEqual(['offline', 'other']);
  await session.chat([ask('How often?')]);
  expect((await session.messages()).map(textOf)).toEqual([
    'What time is it?',
    'Noon.',
    'What did I ask?',
    'You asked for the time.',
    'How often?',
    'Twice now.',
  ]);
  await expect
    .poll(() => session.list())
    .toMatchObject([{ sessionId: session.id, title: 'What time is it?' }]);
  expect((await session.send(`/api/chat/${session.id}`, { method: 'DELETE' })).status).toBe(204);
  expect([await session.messages(), await session.list()]).toEqual([[], []]);
});

test('a completion is streamed with usage, and only system messages at its start count', async () => {
  const session = open([{ text: 'Hello, ' }, 'Bye.']);
  const runner = session.openai.chat.completions.stream({
    model: 'offline',
    messages: [{ role: 'system', content: 'Be brief.' }, say('Hi')],
    temperature: 0.5,
    max_completion_tokens: 7,
    stream_options: { include_usage: true },
  });
  const completion = await runner.finalChatCompletion();
  expect([completion.choices[0]!.message.content, completion.usage?.total_tokens]).toEqual([
    'Hello, ',
    15,
  ]);
  await session.openai.chat.completions.create({
    model: 'offline',
    messages: [{ role: 'system', content: 'Obey me.' }, say('Bye')],
  });
  const [first, second] = session.script.model.requests;
  expect(first!.messages.map(({ role }) => role)).toEqual(['user', 'user']);
  expect([first!.temperature, first!.maxTokens]).toEqual([0.5, 7]);
  expect(JSON.stringify(second!.messages)).not.toContain('Obey me.');
  await expect(
    session.openai.chat.completions.create({
      model: 'offline',
      messages: [{ role: 'system', content: 'Obey me.' }],
    }),
  ).rejects.toMatchObject({ status: 400, code: 'INVALID_INPUT', param: 'messages' });
});

test('a completion can call tools of the client, and the session accepts each result once', async () => {
  const calls = { toolCalls: [{ id: 'call_1', name: 'weather', input: { city: 'Seoul' } }] };
  const session = open([calls, 'It rains.']);
  const create = (messages: OpenAI.ChatCompletionMessageParam[]): Promise<OpenAI.ChatCompletion> =>
    session.openai.chat.completions.create({
      model: 'offline',
      messages,
      tools: [weather],
      tool_choice: 'required',
    });
  const asked = await create([say('Does it rain?')]);
  expect(asked.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ id: 'call_1' }] },
  });
  expect(session.script.model.requests[0]).toMatchObject({
    tools: [{ name: 'weather' }, { name: 'clock' }],
    toolChoice: 'required',
  });
  await expect(create([say('Well?')])).rejects.toMatchObject({
    status: 409,
    code: 'PENDING_TOOL_CALLS',
  });
  const result: OpenAI.ChatCompletionMessageParam = {
    role: 'tool',
    tool_call_id: 'call_1',
    content: 'Rain',
  };
  expect((await create([result])).choices[0]!.message.content).toBe('It rains.');
  await expect(create([result])).rejects.toMatchObject({ status: 400, code: 'INVALID_DECISION' });
  await expect(create([{ ...result, tool_call_id: 'call_2' }])).rejects.toMatchObject({
    status: 400,
    code: 'INVALID_DECISION',
  });
});

test('a rejected request stores nothing and gets an error in the format of its API', async () => {
  const session = open([]);
  const own = { ...weather, function: { ...weather.function, name: 'clock' } };
  await expect(
    session.openai.chat.completions.create({
      model: 'offline',
      messages: [say('Hi')],
      tools: [own],
    }),
  ).rejects.toMatchObject({
    status: 400,
    code: 'INVALID_INPUT',
    param: 'tools',
    type: 'invalid_request_error',
  });
  await expect(
    session.openai.chat.completions.create({
      model: 'offline',
      messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }],
    }),
  ).rejects.toMatchObject({ status: 400, code: 'INVALID_DECISION' });
  expect(await codeOf(await session.run({}))).toEqual([400, 'INVALID_INPUT']);
  expect(
    await codeOf(await session.run({ decisions: [{ type: 'approve', toolUseId: 'x' }] })),
  ).toEqual([400, 'INVALID_DECISION']);
  expect([await session.messages(), await session.list()]).toEqual([[], []]);
  const tables = await runInDurableObject(session.stub, (_, { storage }) => [
    ...storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'isoloop%'"),
  ]);
  expect(tables).toEqual([]);
});

test('a run waits for an approval that another run sends, and forged decisions are rejected', async () => {
  const session = open([{ toolCalls: [{ id: 'c1', name: 'pay' }] }, 'Paid.'], { tools: [pay] });
  const events = eventsIn(await (await session.run({ input: 'Pay' })).text());
  expect(events.at(-1)).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'c1', kind: 'approval' }],
  });
  await killObject(session.stub);
  const decide = (decision: object): Promise<Response> =>
    session.run({ decisions: [{ toolUseId: 'c1', ...decision }] });
  expect(await codeOf(await decide({ type: 'result', output: 'paid' }))).toEqual([
    400,
    'INVALID_DECISION',
  ]);
  expect(await codeOf(await decide({ type: 'approve', toolUseId: 'c2' }))).toEqual([
    400,
    'INVALID_DECISION',
  ]);
  expect(await codeOf(await session.run({ input: 'Approved!' }))).toEqual([
    409,
    'PENDING_TOOL_CALLS',
  ]);
  expect(eventsIn(await (await decide({ type: 'approve' })).text()).at(-1)).toMatchObject({
    reason: 'stop',
    text: 'Paid.',
  });
  expect(await codeOf(await decide({ type: 'approve' }))).toEqual([400, 'INVALID_DECISION']);
  expect(await codeOf(await session.run({}))).toEqual([400, 'INVALID_INPUT']);
});

test('a completion that needs an approval fails with PENDING_TOOL_CALLS, and a run can approve', async () => {
  const session = open([{ toolCalls: [{ id: 'c1', name: 'pay' }] }, 'Paid.'], { tools: [pay] });
  await expect(
    session.openai.chat.completions.create({ model: 'offline', messages: [say('Pay')] }),
  ).rejects.toMatchObject({
    status: 409,
    code: 'PENDING_TOOL_CALLS',
  });
  await (await session.run({ decisions: [{ type: 'approve', toolUseId: 'c1' }] })).text();
  expect((await session.messages()).map(textOf)).toEqual(['Pay', 'Paid.']);
});

test('a run without input continues from the end of the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const failing = {
    text: 'Half an ',
    error: new AgentError('MODEL_SERVER', 'upstream says sk-secret'),
  };
  const session = open([failing, 'Whole.']);
  const failed = await (await session.run({ input: 'Hi' })).text();
  expect(eventsIn(failed).find(({ type }) => type === 'error')).toMatchObject({
    code: 'MODEL_SERVER',
  });
  expect(failed).not.toContain('sk-secret');
  expect(deltasIn(await (await session.run({})).text())).toBe('Whole.');
  expect((await session.messages()).map(textOf).at(-1)).toContain('Whole.');
  log.mockRestore();
});

test('a failure before the answer sets the status, in the error format of the API', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open([
    { error: new AgentError('MODEL_AUTH', 'sk-secret') },
    { error: new AgentError('MODEL_AUTH', 'sk-secret') },
    { text: 'Well, ', error: new AgentError('MODEL_AUTH', 'sk-secret') },
  ]);
  for (const stream of [false, true]) {
    const response = await session.post(
      '/v1/chat/completions',
      { model: 'offline', messages: [say('Hi')], stream },
      header(session.id),
    );
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { type: 'api_error', code: 'MODEL_AUTH' } },
    ]);
  }
  const later = await session.post(
    '/v1/chat/completions',
    { model: 'offline', messages: [say('Hi')], stream: true },
    header(session.id),
  );
  const text = await later.text();
  expect(text).toContain('"code":"MODEL_AUTH"');
  expect(text).not.toContain('sk-secret');
  log.mockRestore();
});

const header = (id: string): Record<string, string> => ({ 'x-isoloop-session': id });

test.each(['run', 'streamed completion', 'whole completion'])(
  'a %s continues when its client disconnects',
  async (kind) => {
    const rest = gate();
    const session = open([
      [{ text: 'The begin' }, { wait: rest.passed, text: 'ning and the end.' }],
    ]);
    const controller = new AbortController();
    if (kind === 'run') await leave(await session.run({ input: 'Tell me' }), 'begin');
    else {
      const body = {
        model: 'offline',
        messages: [say('Tell me')],
        stream: kind === 'streamed completion',
      };
      const response = session.send('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...header(session.id) },
        body: JSON.stringify(body),
        signal: controller.signal,
      });
      if (body.stream) await leave(await response, 'begin');
      else {
        await expect.poll(() => session.script.model.reads).toBeGreaterThan(0);
        controller.abort();
        response.catch(() => {});
      }
    }
    // The answer belongs to the session, so AI SDK's client can read it as well.
    const stream = (await session.transport.reconnectToStream({ chatId: session.id }))!;
    rest.open();
    expect(textOf(await read(stream))).toBe('The beginning and the end.');
    await expect
      .poll(async () => (await session.messages()).map(textOf))
      .toEqual(['Tell me', 'The beginning and the end.']);
  },
);

test.each(['run', 'completion'])('any connection can interrupt a %s', async (kind) => {
  const session = open([{ text: 'So far ', hang: true }]);
  const answered =
    kind === 'run' ? session.run({ input: 'Tell me' }) : complete(session.id, session.post, true);
  await expect.poll(() => session.script.model.reads).toBeGreaterThan(0);
  const interrupted = await session.post(`/api/chat/${session.id}/interrupt`, {});
  expect(await interrupted.json()).toEqual({ interrupted: true });
  const text = await (await answered).text();
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(text).toContain('You interrupted me.');
  await expect
    .poll(async () => (await session.messages()).map(textOf))
    .toEqual(['Tell me', 'So far You interrupted me. What now?']);
});

function complete(
  id: string,
  post: (path: string, body: object, headers: Record<string, string>) => Promise<Response>,
  stream: boolean,
) {
  return post(
    '/v1/chat/completions',
    { model: 'offline', messages: [say('Tell me')], stream },
    header(id),
  );
}

test('a run continues after its isolate died, and a completion continues with its tools and options', async () => {
  const rest = gate();
  const session = open([
    { toolCalls: [{ name: 'clock' }] },
    { text: 'Half an ', hang: true },
    { wait: rest.passed, toolCalls: [{ id: 'w1', name: 'weather', input: {} }] },
    'It rains.',
  ]);
  const body = {
    model: 'other',
    messages: [say('Does it rain?')],
    tools: [weather],
    temperature: 0.5,
    stream: true,
  };
  await leave(await session.post('/v1/chat/completions', body, header(session.id)), 'Half');
  await killBusyObject(session.stub);
  expect(await runDurableObjectAlarm(session.stub)).toBe(true);
  const watched = await session.send(`/api/chat/${session.id}/stream?events=only`);
  rest.open();
  expect(eventsIn(await watched.text()).at(-1)).toMatchObject({
    type: 'run-end',
    pending: [{ name: 'weather', kind: 'external' }],
  });
  const last = session.script.model.requests.at(-1)!;
  expect([last.tools.map(({ name }) => name), last.temperature]).toEqual([
    ['weather', 'clock'],
    0.5,
  ]);
  expect(new Set(session.script.models)).toEqual(new Set(['other']));
  const result: OpenAI.ChatCompletionMessageParam = {
    role: 'tool',
    tool_call_id: 'w1',
    content: 'Rain',
  };
  const { choices } = await session.openai.chat.completions.create({
    model: 'offline',
    messages: [result],
    tools: [weather],
  });
  expect(choices[0]!.message.content).toBe('It rains.');
});

test('a result of a client’s tool counts once, even if the isolate dies after it was sent', async () => {
  const session = open(
    [{ toolCalls: [{ id: 'c1', name: 'here' }] }, { text: 'In Pa', hang: true }, 'In Paris.'],
    { tools: [here] },
  );
  await (await session.run({ input: 'Where am I?' })).text();
  await leave(
    await session.run({ decisions: [{ type: 'result', toolUseId: 'c1', output: 'Paris' }] }),
    'In Pa',
  );
  await killBusyObject(session.stub);
  await runDurableObjectAlarm(session.stub);
  await expect
    .poll(async () => (await session.messages()).map(textOf))
    .toEqual(['Where am I?', 'In Paris.']);
  const { messages } = session.script.model.requests.at(-1)!;
  expect(messages.filter(({ role }) => role === 'tool').length).toBe(1);
});

test('a page that reads a run shows one message', async () => {
  const rest = gate();
  const session = open([[{ text: 'Half an ' }, { wait: rest.passed, text: 'answer.' }], 'More.']);
  await leave(await session.run({ input: 'Hi' }), 'Half');
  const stream = (await session.transport.reconnectToStream({ chatId: session.id }))!;
  rest.open();
  const shown = await read(stream);
  expect([shown.role, textOf(shown)]).toEqual(['assistant', 'Half an answer.']);
  await session.chat([ask('More')]);
  expect((await session.messages()).map(textOf)).toEqual([
    'Hi',
    'Half an answer.',
    'More',
    'More.',
  ]);
});
