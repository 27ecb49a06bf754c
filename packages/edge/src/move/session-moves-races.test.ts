import { assistantMessage, userMessage } from '@isoloop/core';
import { inputGuard } from '@isoloop/guards';
import { expect, test, vi } from 'vitest';
import { copyOf, placeOf, textsOf } from '../../test-support/moves.ts';
import { ask, codeOf, open } from '../../test-support/session-client.ts';

/**
 * Returns a guard that waits before it checks an imported message. It looks at variables, because
 * workerd crashes if one request settles a promise of another one.
 */
function slowGuard() {
  const state = { isAsked: false, isChecked: false };
  const guard = inputGuard('slow', async (input) => {
    if (input.some(({ role }) => role === 'assistant')) {
      state.isAsked = true;
      await vi.waitUntil(() => state.isChecked, { timeout: 10_000 });
    }
    return input;
  });
  return { guard, state };
}

test('a turn that begins while a copy is taken in is refused, and the copy is stored', async () => {
  const { guard, state } = slowGuard();
  const session = open(['Answer.'], { use: [guard] });
  const place = placeOf(session);
  const copy = copyOf(session.id, [userMessage('Hi.'), assistantMessage('From the tab.')]);
  const put = place.put(copy);
  await expect.poll(() => state.isAsked).toBe(true);
  const turn = { id: session.id, messages: [ask('Too early')] };
  const headers = { 'content-type': 'application/json' };
  const rename = { method: 'PATCH', headers, body: JSON.stringify({ title: 'New' }) };
  expect(await codeOf(await session.post('/api/chat', turn))).toEqual([409, 'AGENT_BUSY']);
  for (const init of [{ method: 'DELETE' }, rename])
    expect(await codeOf(await session.send(`/api/chat/${session.id}`, init))).toEqual([
      409,
      'AGENT_BUSY',
    ]);
  state.isChecked = true;
  await put;
  expect(await codeOf(await session.post('/api/chat', turn))).toEqual([409, 'SESSION_MOVED']);
  await place.setOwner(session.id, { owner: place.name, epoch: 2, copyOf: 't' });
  expect(textsOf([await session.chat([ask('Now')])])).toEqual(['Answer.']);
  expect(textsOf(await session.messages())).toEqual(['Hi.', 'From the tab.', 'Now', 'Answer.']);
});

test('a copy that the guards refuse leaves the session ready for turns', async () => {
  const refuse = inputGuard('refuse', (input) =>
    input.some(({ role }) => role === 'assistant')
      ? { category: 'INVALID_INPUT', message: 'No.' }
      : input,
  );
  const session = open(['Answer.'], { use: [refuse] });
  const copy = copyOf(session.id, [userMessage('Hi.'), assistantMessage('From the tab.')]);
  await expect(placeOf(session).put(copy)).rejects.toMatchObject({ code: 'GUARD_REJECTED' });
  expect(textsOf([await session.chat([ask('Now')])])).toEqual(['Answer.']);
});

test.for([0, 1, 2, 3, 4, 5])(
  'a turn and a copy that arrive together: exactly one is accepted, with %i reads before the copy',
  async (reads) => {
    const session = open(['Answer.']);
    const place = placeOf(session);
    const copy = copyOf(session.id, [userMessage('Hi.')]);
    const turn = session.post('/api/chat', { id: session.id, messages: [ask('Turn')] });
    for (let read = 0; read < reads; read++) await Promise.resolve();
    const put = place.put(copy).then(
      () => 'stored',
      (error: unknown) => (error as { code: string }).code,
    );
    const answer = await (await turn).text();
    const isAnswered = answer.includes('Answer.');
    const outcome = await put;
    if (isAnswered) {
      expect(outcome).toMatch(/AGENT_BUSY|SESSION_CONFLICT/);
      expect(textsOf(await session.messages())).toEqual(['Turn', 'Answer.']);
    } else {
      expect(outcome).toBe('stored');
      expect(answer).toMatch(/AGENT_BUSY|SESSION_MOVED/);
      expect((await place.read(session.id))?.records).toHaveLength(1);
    }
  },
);
