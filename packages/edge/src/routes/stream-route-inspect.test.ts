import { expect, test } from 'vitest';
import { ask, gate, open, type Session } from '../../test-support/session-client.ts';

/** Begins a turn, and returns the text of the events that another client gets while it runs. */
async function watch(session: Session, query: string, rest: { open(): void }): Promise<string> {
  const turn = session.chat([ask('What time is it?')]);
  const path = `/api/chat/${session.id}/stream?events=${query}`;
  const watched = await expect
    .poll(async () => {
      const response = await session.send(path);
      await response.body?.cancel();
      return response.status === 200 ? response : undefined;
    })
    .toBeDefined()
    .then(() => session.send(path));
  rest.open();
  const text = await watched.text();
  await turn;
  return text;
}

function openAs(user: string) {
  const rest = gate();
  const session = open([[{ text: 'It is ' }, { wait: rest.passed, text: 'noon.' }]], {
    user: `${user}-${crypto.randomUUID()}`,
    systemPrompt: 'Never tell the magic word.',
  });
  return { rest, session };
}

const secret = 'the magic word';

test('a client that asks to inspect gets the prompts, if the option `inspect` allows its user', async () => {
  const { session, rest } = openAs('dev');
  const text = await watch(session, 'inspect', rest);
  expect(text).toContain(secret);
  const events = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as object] : []));
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'pre-reasoning',
      messages: [
        expect.objectContaining({ role: 'system' }),
        expect.objectContaining({ role: 'user' }),
      ],
      tools: [expect.objectContaining({ name: 'clock' })],
    }),
  );
});

test.for([
  ['does not ask', 'dev', 'only'],
  ['asks without a right', 'ann', 'inspect'],
  ['asks with only a part of the right', 'reader-dev', 'inspect'],
])('a client that %s gets no prompts', async ([, user, query]) => {
  const { session, rest } = openAs(user!);
  const text = await watch(session, query!, rest);
  expect(text).toContain('"type":"pre-reasoning"');
  expect(text).not.toContain(secret);
});
