import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region home
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('the home page pays what a person has changed, from the log of a lost agent', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const calls = [{ name: 'pay', input: { to: 'Alice', coins: 30 } }];
  const model = new ScriptedModel([{ toolCalls: calls }, 'Alice has got 20 coins.']);

  // #region home
  const pay = tool({
    name: 'pay',
    description: 'Pays somebody',
    input: z.object({ to: z.string(), coins: z.number() }),
    needsApproval: true,
    execute: ({ to, coins }) => console.log(`${coins} coins to ${to}`),
  });
  const memory = new SessionMemory(new MemoryStore(), 'payments'); // or IndexedDB, SQLite, KV …
  const open = () => new ReActAgent({ name: 'assistant', model, tools: [pay], memory });

  await open().call('Pay 30 coins to Alice.'); // it waits for a person, and its host dies
  const [call] = (await open().call()).pending; // another agent reads the log
  const change = { type: 'edit', input: { to: 'Alice', coins: 20 } } as const;
  const { text } = await open().call([{ toolUseId: call!.toolUseId, name: 'pay', ...change }]);
  console.log(text);
  // #endregion

  expect(log.mock.calls).toEqual([['20 coins to Alice'], ['Alice has got 20 coins.']]);
});
