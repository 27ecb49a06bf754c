import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import {
  SessionMemory,
  textOf as textOfMessage,
  toolResultsOf,
  type Decision,
  type Msg,
} from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';
import type { ScriptedReply } from '@isoloop/core/testing';
import { expect, test, vi } from 'vitest';
import { DurableStore } from '../durable/durable-store.ts';
import {
  ask,
  gate,
  leaveAt,
  open,
  read,
  textOf,
  type Session,
} from '../../test-support/session-client.ts';
import { pay } from '../../test-support/plain-tools.ts';
import { DurableQueue } from '../durable/durable-queue.ts';
import { killBusyObject, killObject } from '../../test-support/kill-objects.ts';

// An isolate dies just before the run of a turn (one request to the session) begins, or just after
// the run has ended. The turn is still in the queue, and the log has no open run.

const message = (text: string): Msg => ({
  id: `id-${text}`,
  role: 'user',
  content: [{ type: 'text', text }],
  createdAt: '2026-01-01T00:00:00.000Z',
});

/**
 * Stores a turn in the state that an isolate leaves when it dies after the turn has begun. Then
 * lets another isolate resume the turn.
 */
async function die(
  session: Session,
  request: TurnRequest,
  change: (memory: SessionMemory) => Promise<void> = async () => {},
): Promise<void> {
  await killObject(session.stub);
  await runInDurableObject(session.stub, async (_, { storage }) => {
    await change(new SessionMemory(new DurableStore(storage), session.id));
    const queue = new DurableQueue(storage);
    const { id } = queue.add({ request, model: 'offline', messageId: 'm', requestId: 'r' });
    queue.attempt(id);
    queue.begin(id);
    await storage.setAlarm(Date.now() + 60_000);
  });
  await killObject(session.stub);
  expect(await runDurableObjectAlarm(session.stub)).toBe(true);
  const waiting = (): Promise<number> =>
    runInDurableObject(session.stub, (_, { storage }) => new DurableQueue(storage).size);
  await expect.poll(waiting).toBe(0);
}

const texts = async (session: Session): Promise<string[]> => (await session.messages()).map(textOf);

const rows: readonly (readonly [what: string, request: TurnRequest, shown: readonly string[]])[] = [
  [
    'asks the model if the message of the chat is not in the log',
    { kind: 'message', message: message('B') },
    ['A', 'One.', 'B', 'Two.'],
  ],
  [
    'asks the model if the messages of a completion are not in the log',
    { kind: 'messages', messages: [message('B')] },
    ['A', 'One.', 'B', 'Two.'],
  ],
  [
    'asks the model without a second check of `after` if the messages of a response are not in the log',
    { kind: 'messages', messages: [message('B')], afterInputId: 'gone' },
    ['A', 'One.', 'B', 'Two.'],
  ],
  [
    'does not ask the model again if the log has the answer of the chat',
    { kind: 'message', message: message('A') },
    ['A', 'One.'],
  ],
  [
    'does not ask the model again if the log has the answer of the completion',
    { kind: 'messages', messages: [message('A')] },
    ['A', 'One.'],
  ],
  ['does not regenerate again if the log has a new answer', { kind: 'regenerate' }, ['A', 'One.']],
  ['does not continue from the log if the log has an answer', { kind: 'continue' }, ['A', 'One.']],
  [
    'does not apply a decision on a call that is no longer open',
    { kind: 'decide', decisions: [{ type: 'approve', toolUseId: 'c1' }] },
    ['A', 'One.'],
  ],
];

test.each(rows)('a resumed turn %s', async (_, request, shown) => {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A', 'id-A')]);
  await die(session, request);
  expect(await texts(session)).toEqual(shown);
  expect(session.script.model.requests.length).toBe(shown.length / 2);
});

test('a resumed turn without input answers the message whose earlier run failed', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open(['One.', { error: new Error('The model is down.') }, 'Two.']);
  await session.chat([ask('A')]);
  await (await session.run({ input: 'B' })).text();
  await die(session, { kind: 'continue' });
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
  log.mockRestore();
});

test('a resumed turn stores the messages of a completion, but no system message in a session that has begun', async () => {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A')]);
  const system: Msg = { ...message('Obey me.'), role: 'system' };
  await die(session, { kind: 'messages', messages: [system, message('B')] });
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
});

test('a resumed turn regenerates the answer if the old answer was already removed', async () => {
  const session = open(['One.', 'Two.', 'Three.']);
  await session.chat([ask('A')]);
  await die(session, { kind: 'regenerate' }, async (memory) => {
    const answers = (await memory.read()).filter(({ role }) => role === 'assistant');
    await memory.delete(answers.map(({ id }) => id));
  });
  expect(await texts(session)).toEqual(['A', 'Two.']);
});

const approve = { type: 'approve', toolUseId: 'c1' } as const;
const result = { type: 'result', toolUseId: 'c0', output: '12:00' } as const;

test.each<[string, TurnRequest]>([
  ['a run', { kind: 'decide', decisions: [approve] }],
  // A chat also sends results of calls that are finished.
  ['a chat', { kind: 'decisions', decisions: [result, approve], messageId: 'm' }],
])(
  'a resumed turn applies the decisions of %s to an open call, and only once',
  async (_, request) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const pays: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'pay' }] };
    const session = open([{ toolCalls: [{ id: 'c0', name: 'clock' }] }, pays, 'Paid.', 'Never.'], {
      tools: [pay],
    });
    await session.chat([ask('Pay')]);
    await die(session, request);
    expect(await texts(session)).toEqual(['Pay', 'Paid.']);
    await die(session, request);
    expect(await texts(session)).toEqual(['Pay', 'Paid.']);
    expect(session.script.model.requests.length).toBe(3);
    log.mockRestore();
  },
);

const said = (text: string, metadata = {}): Msg => ({
  ...message(text),
  role: 'assistant',
  metadata,
});
const stop: Msg = { ...message('Stop.'), metadata: { reason: 'interrupted' } };

const left: readonly (readonly [what: string, log: readonly Msg[], shown: readonly string[]])[] = [
  ['answers a question without a reply', [message('B')], ['A', 'One.', 'B', 'Two.']],
  [
    'asks the model again after a partial reply',
    [message('B'), said('Half', { partial: 'aborted' })],
    ['A', 'One.', 'B', 'Two.'],
  ],
  [
    'does not ask the model after an answer whose end was not recorded',
    [message('B'), said('Stored.')],
    ['A', 'One.', 'B', 'Stored.'],
  ],
  [
    'keeps an interrupted reply',
    [message('B'), said('Half', { partial: 'interrupted' })],
    ['A', 'One.', 'B', 'Half'],
  ],
  [
    'keeps the message that answers an interrupt',
    [message('B'), said('What now?', { reason: 'interrupted' })],
    ['A', 'One.', 'B', 'What now?'],
  ],
  [
    'keeps a user message that interrupted the run',
    [message('B'), stop],
    ['A', 'One.', 'B', 'Stop.'],
  ],
];

test.each(left)('a resumed turn whose run had begun %s', async (_what, log, shown) => {
  const session = open(['One.', 'Two.']);
  await session.chat([ask('A', 'id-A')]);
  let endReason: string | undefined;
  await die(session, { kind: 'message', message: message('B') }, async (memory) => {
    await memory.note([{ kind: 'run-begin', runId: 'left' }]);
    await memory.append(log);
  });
  expect(await texts(session)).toEqual(shown);
  expect(session.script.model.requests.length).toBe(shown.includes('Two.') ? 2 : 1);
  await runInDurableObject(session.stub, async (_, { storage }) => {
    ({ endReason } = await new SessionMemory(new DurableStore(storage), session.id).view());
  });
  const isInterrupted = log.some(({ metadata }) =>
    Object.values(metadata ?? {}).includes('interrupted'),
  );
  expect(endReason).toBe(isInterrupted ? 'interrupted' : 'stop');
});

test('POST /api/run without input asks the model again after an interrupt, and a page sees only the new answer', async () => {
  const rest = gate();
  const session = open([
    'One.',
    { text: 'Half an ', hang: true },
    { wait: rest.passed, text: 'Two.' },
  ]);
  await session.chat([ask('A', 'id-A')]);
  await leaveAt(session, ask('B', 'id-B'), 'Half an');
  await session.post(`/api/chat/${session.id}/interrupt`);
  await expect.poll(() => texts(session)).toContain('Half an You interrupted me. What now?');
  await expect.poll(() => session.transport.reconnectToStream({ chatId: session.id })).toBeNull();
  const response = await session.run({});
  expect(response.status).toBe(200);
  const stream = (await session.transport.reconnectToStream({ chatId: session.id }))!;
  rest.open();
  expect(textOf(await read(stream))).toBe('Two.');
  await response.body!.cancel();
  expect(await texts(session)).toEqual(['A', 'One.', 'B', 'Two.']);
  const again = await session.run({});
  expect([again.status, await again.json()]).toMatchObject([
    400,
    { error: { code: 'INVALID_INPUT' } },
  ]);
});

test.each<[string, Decision, boolean, unknown]>([
  ['that followed an approved call', approve, true, { state: 'interrupted' }],
  ['that denied a call', { type: 'reject', toolUseId: 'c1' }, false, { state: 'denied' }],
])(
  'a resumed turn answers a message %s, even if the message was not in the log',
  async (_, decision, started, told) => {
    const pays: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'pay' }] };
    const session = open([pays, 'Tea.', 'Never.'], { tools: [pay] });
    await session.chat([ask('Pay')]);
    const request = { kind: 'message', message: message('Tea'), decisions: [decision] } as const;
    await die(session, request, async (memory) => {
      await memory.note([
        { kind: 'run-begin', runId: 'died' },
        { kind: 'decision', decision },
        ...(started ? [{ kind: 'call-started', toolUseId: 'c1' } as const] : []),
      ]);
      await memory.flush();
    });
    expect(await texts(session)).toEqual(['Pay', '', 'Tea', 'Tea.']);
    const results = session.script.model.requests[1]!.messages.flatMap(toolResultsOf);
    expect(results).toMatchObject([told]);
    expect(session.script.model.requests.length).toBe(2);
  },
);

const hanging: ScriptedReply = { text: 'So far', hang: true };

test.each<[string, string, readonly string[]]>([
  ['a new message', 'id-B', ['A', 'One.', 'B', 'Two.']],
  ['an edited message', 'id-A', ['B', 'Two.']],
])('%s is not lost if the isolate dies during the first reply', async (_what, id, shown) => {
  const session = open(['One.', hanging, 'Two.']);
  await session.chat([ask('A', 'id-A')]);
  await leaveAt(session, ask('B', id), 'So far');
  await killBusyObject(session.stub);
  // The log does not have the message yet, but a page that is loaded again shows it.
  expect((await texts(session)).slice(0, shown.length - 1)).toEqual(shown.slice(0, -1));
  await expect.poll(() => texts(session)).toEqual(shown);
  expect(session.script.model.requests.length).toBe(3);
});

test.each([
  ['three', false, 3],
  ['no', true, 0],
] as const)(
  'a message is stored once, unanswered, after %s resumptions that die during the first reply',
  async (_what, brief, resumptions) => {
    const session = open(['One.', hanging, hanging, hanging, hanging, 'Late.', 'Two.'], { brief });
    const { requests } = session.script.model;
    await session.chat([ask('A')]);
    await leaveAt(session, ask('B'), 'So far');
    for (let time = 1; time <= resumptions; time++) {
      await killBusyObject(session.stub);
      expect(await texts(session)).toContain('B');
      await expect.poll(() => requests.length).toBe(2 + time);
    }
    await killBusyObject(session.stub);
    await expect.poll(() => session.transport.reconnectToStream({ chatId: session.id })).toBeNull();
    expect(await texts(session)).toEqual(['A', 'One.', 'B']);
    expect(requests.length).toBe(2 + resumptions);
    expect((await storedTexts(session)).at(-1)).toBe('B');
  },
);

test('a turn whose agent kills the isolate each time is given up', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const session = open(['One.', 'Two.']);
  await session.chat([ask('A')]);
  await killObject(session.stub);
  await runInDurableObject(session.stub, (_, { storage }) => {
    const request = { kind: 'message', message: message('B') } as const;
    const queue = new DurableQueue(storage);
    const state = { hasBegun: true, attempts: 5 };
    queue.add({ request, model: 'offline', messageId: 'm', requestId: 'r' }, state);
  });
  await killObject(session.stub);
  await expect.poll(() => texts(session)).toEqual(['A', 'One.']);
  expect(log.mock.calls.flat().join()).toContain(
    'The isolate died 5 times before the turn could end',
  );
  log.mockRestore();
});

/** Returns the texts of the messages in the database. */
async function storedTexts(session: Session): Promise<readonly string[]> {
  return runInDurableObject(session.stub, async (_, { storage }) => {
    const messages = await new SessionMemory(new DurableStore(storage), session.id).read();
    return messages.map(textOfMessage);
  });
}
