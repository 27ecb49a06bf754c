import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MemoryStore, ReActAgent, SessionMemory, textOf, tool } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { formatVersion } from '../../packages/core/src/memory/log/stored/stored-batch.ts';
import { root } from '../../scripts/root.ts';

const folder = `${root}/test/fixtures/stored-formats`;
const files = readdirSync(folder);

test('the format of today has a stored conversation, which node scripts/stored-format.ts writes', () => {
  expect(files).toContain(`format-${formatVersion}.json`);
});

test.for(files)('%s: a conversation is read, and its waiting tool call runs once', async (file) => {
  const entries = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as Record<string, string>;
  const store = new MemoryStore();
  for (const [key, value] of Object.entries(entries)) await store.set(key, value);
  const payments: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays somebody',
    input: { type: 'object' },
    needsApproval: true,
    execute: (input) => {
      payments.push(input);
      return 'paid';
    },
  });
  const model = new ScriptedModel(['Bob has his coins.']);
  const memory = new SessionMemory(store, 'notes');
  const agent = new ReActAgent({ name: 'assistant', model, tools: [pay], memory });

  const { pending } = await agent.call();
  expect(pending).toMatchObject([{ name: 'pay', input: { to: 'Bob', coins: 30 } }]);
  const { toolUseId } = pending[0]!;
  const { text } = await agent.call([{ toolUseId, name: 'pay', type: 'approve' }]);

  expect(text).toBe('Bob has his coins.');
  expect(payments).toEqual([{ to: 'Bob', coins: 30 }]);
  const texts = (await new SessionMemory(store, 'notes').read()).map(textOf);
  expect(texts.slice(0, 3)).toEqual(['I am Ann.', 'Hello Ann. 你好。', 'Pay 30 coins to Bob.']);
});
