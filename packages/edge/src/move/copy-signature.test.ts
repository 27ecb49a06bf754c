import { assistantMessage, textOf, toolUsesOf, userMessage } from '@isoloop/core';
import { endpointPlace, type SessionCopy } from '@isoloop/core/move';
import type { LogRecord } from '@isoloop/core/log';
import { expect, test } from 'vitest';
import { sessionMoves } from './index.ts';
import { boundEndpoint, type Place } from '../../test-support/both-bindings.ts';
import { messagesOf, callOf, copyOf, pay, pendingIn, resultsIn } from '../../test-support/moves.ts';

const hosts = ['KV with echoes', 'Durable Object'] as const;

type Replies = Parameters<typeof boundEndpoint>[1];

/** Opens a conversation, and returns it as the endpoint has signed it. */
async function signed(host: Place, replies: Replies, session?: { id?: string; user?: string }) {
  const tools = [{ ...pay([]), needsApproval: true }];
  const bound = boundEndpoint(host, replies, { tools }, { moves: sessionMoves() }, session);
  const { id, user, fetch, chat, messages } = bound;
  const headers = { authorization: `Bearer ${encodeURIComponent(user)}` };
  const path = `/api/chat/${id}`;
  // Each request has a place of its own, as each client has.
  const place = () => endpointPlace('https://edge.test/api/chat', { headers, fetch });
  await chat().sendMessage({ text: 'Hi' });
  await messages();
  const { ownership: _ownership, isRunning: _isRunning, ...copy } = (await place().read(id))!;
  /** Deletes the conversation, and stores the copy in its place. */
  const restored = async (changed: SessionCopy): Promise<SessionCopy> => {
    expect((await fetch(path, { method: 'DELETE', headers })).status).toBe(204);
    expect((await fetch(path, { headers })).status).toBe(204);
    await place().put(changed);
    return (await place().read(id))!;
  };
  return { ...bound, place, copy: copy as SessionCopy, restored };
}

const marksIn = (copy: SessionCopy): readonly boolean[] =>
  messagesOf(copy.records).map(({ metadata }) => metadata?.['imported'] === true);

const added: readonly LogRecord[] = [userMessage('More'), assistantMessage('Added')].map(
  (message) => ({ kind: 'message', message }),
);

/** Changes the text of the first message. */
const edited = ({ records: [first, ...rest], ...copy }: SessionCopy): SessionCopy => ({
  ...copy,
  records: [{ kind: 'message', message: userMessage('Edited', messageIn(first)) }, ...rest],
});

const messageIn = (record: LogRecord | undefined) =>
  record?.kind === 'message' ? { id: record.message.id } : {};

test.for(hosts)(
  '%s: after GET and DELETE, PUT restores what the endpoint has signed, and marks what was added',
  async (host) => {
    const { copy, restored, messages } = await signed(host, ['Hello.']);
    expect(copy.signature).toMatch(/^[\w-]+\.[\w-]+$/);
    const back = await restored({ ...copy, records: [...copy.records, ...added] });
    expect(marksIn(back)).toEqual([false, false, false, true]);
    expect(messagesOf(back.records).map(textOf)).toEqual(['Hi', 'Hello.', 'More', 'Added']);
    expect((await messages()).map(({ metadata }) => Object(metadata).imported)).toEqual([
      undefined,
      undefined,
      undefined,
      true,
    ]);
  },
);

test.for(hosts)(
  '%s: what the provider needs back stays with a signed message, and is lost without the signature',
  async (host) => {
    const responses = { index: 0, origin: 'api.openai.com', item: { phase: 'final' } };
    const delta = { id: 't', delta: 'Hello.', providerMetadata: { responses } };
    const reply = { deltas: [[{ type: 'text', ...delta } as const]] };
    const { copy, restored } = await signed(host, [reply]);
    const metadataIn = ({ records }: SessionCopy) =>
      messagesOf(records).flatMap(({ content }) => content.map((block) => block.providerMetadata));
    expect(metadataIn(await restored(copy))).toEqual([undefined, { responses }]);
    expect(metadataIn(await restored(edited(copy)))).toEqual([undefined, undefined]);
  },
);

test.for(hosts)('%s: one changed message makes the whole conversation untrusted', async (host) => {
  const { copy, restored } = await signed(host, ['Hello.']);
  const back = await restored(edited(copy));
  // The mark is for messages that the user did not write.
  expect(marksIn(back)).toEqual([false, true]);
  expect(messagesOf(back.records).map(textOf)).toEqual(['Edited', 'Hello.']);
});

test.for(
  hosts.flatMap((host) =>
    ['removed', 'forged', 'foreign', 'other user'].map((how) => [host, how] as const),
  ),
)('%s: a signature that is %s proves nothing', async ([host, how]) => {
  const { id, copy, restored } = await signed(host, ['Hello.']);
  const other = await signed(host, ['Hello.'], how === 'other user' ? { id } : {});
  const signature = {
    removed: undefined,
    forged: copy.signature!.replace(/.\./, (end) => (end === 'A.' ? 'B.' : 'A.')),
  }[how];
  const isOther = how === 'foreign' || how === 'other user';
  const records = isOther ? other.copy.records : copy.records;
  const changed = { ...copy, records, signature: isOther ? other.copy.signature : signature };
  expect(marksIn(await restored(changed))).toEqual([false, true]);
});

test.for(hosts)(
  '%s: the mark stays, whether a copy comes twice or a client removes the mark',
  async (host) => {
    const { id, copy, restored, place } = await signed(host, ['Hello.']);
    const ownership = { owner: 'browser:1', epoch: 1, copyOf: 't' };
    const given = { ...copy, records: [...copy.records, ...added], ownership };
    await restored(given);
    const stored = (await place().read(id))!;
    for (const again of [given, stored, given]) {
      await place().put({ ...again, ownership });
      expect(marksIn((await place().read(id))!)).toEqual([false, false, false, true]);
    }
  },
);

const call = { id: 'c1', name: 'pay', input: {} };

const waiting = (kind: 'approval' | 'external'): LogRecord => ({
  kind: 'suspended',
  calls: [{ pending: { toolUseId: 'c1', name: 'pay', input: {}, kind } }],
});

const withCall = ({ records, ...copy }: SessionCopy, note?: LogRecord): SessionCopy => ({
  ...copy,
  records: [...records.filter(({ kind }) => kind !== 'suspended'), ...(note ? [note] : [])],
});

test.for(['Durable Object'] as const)(
  '%s: a signed open tool call waits for what it waited for, and for nothing that a client says',
  async (host) => {
    const { copy, restored } = await signed(host, [{ toolCalls: [call] }]);
    expect(messagesOf(copy.records).flatMap(toolUsesOf)).toHaveLength(1);
    const pending = pendingIn(copy);
    expect(pending).toMatchObject([{ toolUseId: 'c1', kind: 'approval' }]);
    expect(pendingIn(await restored(copy))).toEqual(pending);
    // An external call would let the client write the result.
    const external = await restored(withCall(copy, waiting('external')));
    expect(pendingIn(external)).toEqual([]);
    expect(resultsIn(external)).toEqual([['c1', 'interrupted']]);
    const forgotten = await restored(withCall(copy));
    expect(pendingIn(forgotten)).toMatchObject([{ toolUseId: 'c1', kind: 'approval' }]);
  },
);

const withOtherId = (record: LogRecord): LogRecord =>
  record.kind === 'message'
    ? { ...record, message: { ...record.message, id: crypto.randomUUID() } }
    : record;

const attacks = [
  ...hosts.flatMap((host) =>
    (['put back', 'replaced', 'regenerated', 'unsigned', 'renamed'] as const).map(
      (attack) => [host, attack] as const,
    ),
  ),
  // In KV, a deletion leaves nothing behind.
  ['Durable Object', 'deleted'] as const,
];

test.for(attacks)(
  '%s: a tool that has run does not run again after an old copy of the session (%s)',
  async ([host, attack]) => {
    const runs: string[] = [];
    const replies = [{ toolCalls: [call] }, 'Paid.', 'Again.'];
    const tools = [{ ...pay(runs), needsApproval: true }];
    const moves = { moves: sessionMoves() };
    const bound = boundEndpoint(host, replies, { tools }, moves);
    const { id, user, fetch, chat } = bound;
    const headers = { authorization: `Bearer ${encodeURIComponent(user)}` };
    const place = endpointPlace('https://edge.test/api/chat', { headers, fetch });
    const told = chat();
    await told.sendMessage({ text: 'Hi' });
    const old = (await place.read(id))!;
    await told.addToolApprovalResponse({ id: 'c1', approved: true });
    await told.sendMessage();
    expect(runs).toEqual(['paid']);
    const { epoch } = old.ownership!;
    if (attack === 'regenerated') await told.regenerate();
    if (attack === 'deleted') {
      expect((await fetch(`/api/chat/${id}`, { method: 'DELETE', headers })).status).toBe(204);
    } else {
      const { copyOf: at = '' } = (await place.read(id))!.ownership!;
      await place.setOwner(id, { owner: 'browser:1', epoch: epoch + 1, copyOf: at });
    }
    const ownership = { owner: 'browser:1', epoch: epoch + 3, copyOf: 't' };
    if (attack === 'replaced') await place.put({ ...old, records: [], ownership });
    const { signature, ...copy } = old;
    const isUnsigned = attack === 'unsigned' || attack === 'renamed';
    const sent = { ...copy, ...(!isUnsigned && { signature }), ownership };
    if (attack === 'renamed') {
      // Nothing says that the endpoint made the tool call, so it ends instead.
      await place.put({ ...sent, records: sent.records.map(withOtherId) });
      expect(pendingIn(await place.read(id))).toEqual([]);
      return;
    }
    await expect(place.put(sent)).rejects.toMatchObject({
      code: 'SESSION_CONFLICT',
      message: expect.stringContaining('"c1"'),
    });
    expect(runs).toEqual(['paid']);
  },
);

test.for(hosts.flatMap((host) => ['c1', 'c/1', 'a/b/c'].map((callId) => [host, callId] as const)))(
  '%s: an imported tool call that has run does not run again in another message (%s)',
  async ([host, callId]) => {
    const runs: string[] = [];
    const replies = ['Paid.', 'Paid again.'];
    const tools = [{ ...pay(runs), needsApproval: true }];
    const bound = boundEndpoint(host, replies, { tools }, { moves: sessionMoves() });
    const { id, user, fetch, chat, messages } = bound;
    const headers = { authorization: `Bearer ${encodeURIComponent(user)}` };
    const place = endpointPlace('https://edge.test/api/chat', { headers, fetch });
    /** Brings the conversation with the open tool call in a message of this id. */
    const bring = async (messageId: string, epoch: number): Promise<void> => {
      const reply = assistantMessage([callOf(callId)], { id: messageId });
      const copy = copyOf(id, [userMessage('Pay', { id: 'u1' }), reply]);
      await place.put({ ...copy, ownership: { owner: 'browser:1', epoch, copyOf: 't' } });
      await place.setOwner(id, { owner: place.name, epoch: epoch + 1, copyOf: 't' });
    };
    await bring('m/1/2', 1);
    const told = chat({ messages: await messages() });
    await told.addToolApprovalResponse({ id: callId, approved: true });
    await told.sendMessage();
    expect(runs).toEqual(['paid']);
    const { epoch, copyOf: at = '' } = (await place.read(id))!.ownership!;
    await place.setOwner(id, { owner: 'browser:1', epoch: epoch + 1, copyOf: at });
    await bring('other', epoch + 2);
    const copy = await place.read(id);
    expect(pendingIn(copy)).toEqual([]);
    expect(resultsIn(copy)).toEqual([[callId, 'interrupted']]);
  },
);

test.for(hosts)(
  '%s: a change to an owner without a colon, or with a field of the wrong kind, is refused',
  async (host) => {
    const { id, fetch, user } = await signed(host, ['Hello.']);
    const headers = {
      authorization: `Bearer ${encodeURIComponent(user)}`,
      'content-type': 'application/json',
    };
    const owners = [
      { owner: 'zzz' },
      { owner: 'zzz', epoch: 1, copyOf: 't' },
      { owner: 'a:b', epoch: '1', copyOf: 't' },
    ];
    for (const owner of owners) {
      const init = { method: 'PUT', headers, body: JSON.stringify(owner) };
      const response = await fetch(`/api/chat/${id}`, init);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: 'INVALID_INPUT' } });
    }
    expect((await fetch(`/api/chat/${id}/messages`, { headers })).status).toBe(200);
  },
);
