import { MemoryStore } from '@isoloop/core';
import { endpointPlace, moveSession } from '@isoloop/core/move';
import { operator } from '@isoloop/core/several';
import { expect, test } from 'vitest';
import { sessionMoves } from '../move/index.ts';
import { operatorDesk } from '../operator/index.ts';
import { boundEndpoint } from '../../test-support/both-bindings.ts';
import { tab } from '../../test-support/moves.ts';

test.for(['KV with echoes', 'Durable Object'] as const)(
  '%s: a conversation stays while an operator answers, and moves when the operator has left',
  async (place) => {
    const { id, user, chat, fetch, messages } = boundEndpoint(
      place,
      ['Hello.'],
      { use: [operator()] },
      { moves: sessionMoves(), operator: operatorDesk({ authorize: () => ({ name: 'Ann' }) }) },
    );
    const tell = async (action: string): Promise<void> => {
      const path = `/api/operator/${encodeURIComponent(user)}/${id}`;
      const body = JSON.stringify({ action, text: action });
      const headers = { 'content-type': 'application/json' };
      await (await fetch(path, { method: 'POST', headers, body })).text();
      await messages();
    };
    const at = endpointPlace('https://edge.test/api/chat', {
      headers: { authorization: `Bearer ${encodeURIComponent(user)}` },
      fetch: (url, init) => fetch(url, init),
    });
    const store = new MemoryStore();
    const move = (whenRunning: 'refuse' | 'wait', sleep?: () => Promise<void>): Promise<void> =>
      moveSession(id, { from: at, to: tab(store), whenRunning, ...(sleep && { sleep }) });
    await chat().sendMessage({ text: 'Hi' });
    await tell('join');
    const refused = { code: 'AGENT_BUSY', message: expect.stringContaining('person') };
    await expect(move('refuse')).rejects.toMatchObject({ code: 'AGENT_BUSY' });
    const { ownership: here, ...copy } = (await at.read(id))!;
    const given = { owner: 'browser:1', epoch: here!.epoch + 1, copyOf: here!.copyOf! };
    await expect(at.setOwner(id, given)).rejects.toMatchObject(refused);
    // A copy over the conversation would take it away, too.
    await expect(at.put({ ...copy, ownership: given })).rejects.toMatchObject(refused);
    await move('wait', () => tell('leave'));
    expect((await at.read(id))?.ownership).toMatchObject({ owner: 'browser:1' });
  },
);
