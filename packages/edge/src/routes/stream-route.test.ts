import { createExecutionContext } from 'cloudflare:test';
import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { sessions } from '../../test-support/agent-session.ts';
import {
  ask,
  gate,
  given,
  leaveAt,
  open,
  read,
  textOf,
} from '../../test-support/session-client.ts';

test('an answer continues when its client disconnects, and a returning client gets the answer from the beginning', async () => {
  const rest = gate();
  const session = open([[{ text: 'The begin' }, { wait: rest.passed, text: 'ning and the end.' }]]);
  await leaveAt(session, ask('Tell me'), 'begin');
  const stream = (await session.transport.reconnectToStream({ chatId: session.id }))!;
  rest.open();
  const again = await read(stream);
  expect(textOf(again)).toBe('The beginning and the end.');
  await expect.poll(() => session.transport.reconnectToStream({ chatId: session.id })).toBeNull();
  expect((await session.messages()).map(textOf)).toEqual(['Tell me', 'The beginning and the end.']);
});

test('a reader that sends the last event id it has seen gets only the events after it', async () => {
  const rest = gate();
  const words = 'one two three four five six';
  const session = open([[{ text: words }, { wait: rest.passed, text: ' seven' }]]);
  const response = await session.post('/api/chat', { id: session.id, messages: [ask('Count')] });
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let whole = '';
  while (!whole.includes('six')) whole += decoder.decode((await reader.read()).value);
  const [run, seen] = [...whole.matchAll(/^id: (.+)$/gm)].at(-1)![1]!.split(':') as [
    string,
    string,
  ];
  const from = (lastEventId: string): Promise<Response> =>
    session.send(`/api/chat/${session.id}/stream`, { headers: { 'last-event-id': lastEventId } });
  const later = await Promise.all(
    Array.from({ length: Number(seen) }, (_, index) => from(`${run}:${index + 1}`)),
  );
  const strange = await Promise.all(['x', `${run}:-1`, `other:${seen}`].map(from));
  rest.open();
  while (!whole.includes('[DONE]')) whole += decoder.decode((await reader.read()).value);
  const deltas = (text: string): string =>
    chunksOf(text)
      .map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : ''))
      .join('');
  const count = (text: string, type: string): number =>
    chunksOf(text).filter((chunk) => chunk.type === type).length;
  expect(deltas(whole)).toBe(`${words} seven`);
  for (const each of strange)
    expect(chunksOf(await each.text()).map(({ type }) => type)).toContain('start');
  const rests = await Promise.all(later.map((each) => each.text()));
  for (const text of rests) {
    expect(`${words} seven`.endsWith(deltas(text))).toBe(true);
    expect([count(text, 'start'), count(text, 'text-end'), count(text, 'finish')]).toEqual([
      0, 1, 1,
    ]);
    expect(count(text, 'text-start')).toBe(deltas(text) === `${words} seven` ? 1 : 0);
  }
  // Each of the seven words has its own event id, even if the run has joined several words.
  expect(new Set(rests.map(deltas)).size).toBe(7);
});

test('without a Durable Object, a request for the stream has no content', async () => {
  const request = new Request('https://edge.test/api/chat/a/stream', {
    method: 'GET',
    headers: { authorization: 'Bearer ann' },
  });
  const response = await sessions.fetch(request, given, createExecutionContext());
  expect(response.status).toBe(204);
});

function chunksOf(text: string): readonly UIMessageChunk[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json]) => JSON.parse(json!) as UIMessageChunk,
  );
}
