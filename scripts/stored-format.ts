import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { formatVersion } from '../packages/core/src/memory/log/stored/stored-batch.ts';
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { root } from './root.ts';

// Usage: node scripts/stored-format.ts. Stores a conversation in the format of today as a fixture,
// for the test that later versions read it. Refuses to replace a fixture, because a released one
// never changes.

const folder = `${root}/test/fixtures/stored-formats`;
const file = `${folder}/format-${formatVersion}.json`;
if (existsSync(file)) {
  console.error(`${file} exists. Delete it first, if no release has this format.`);
  process.exit(1);
}
const store = new MemoryStore();
const model = new ScriptedModel([
  'Hello Ann. 你好。',
  { thinking: 'It costs money.', toolCalls: [{ name: 'pay', input: { to: 'Bob', coins: 30 } }] },
]);
const pay = tool({
  name: 'pay',
  description: 'Pays somebody',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => 'paid',
});
const memory = new SessionMemory(store, 'notes');
const agent = new ReActAgent({ name: 'assistant', model, tools: [pay], memory });
await agent.call('I am Ann.');
await agent.call('Pay 30 coins to Bob.');
const keys = await store.keys('');
const entries = Object.fromEntries(await store.getMany(keys));
mkdirSync(folder, { recursive: true });
writeFileSync(file, `${JSON.stringify(entries, null, 2)}\n`);
