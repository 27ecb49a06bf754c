import { afterEach, expect, test, vi } from 'vitest';
import memoryStore from '../../../../test/fixtures/release-0.1/sessions/memory-store.json';
import echo from '../../../../test/fixtures/release-0.1/sessions/echo.json';
import savedState from '../../../../test/fixtures/release-0.1/sessions/saved-state.json';
import splitValues from '../../../../test/fixtures/release-0.1/sessions/split-values.json';
import { expectStoredSessions, type StoredSessions } from '../../../../test/stored-sessions.ts';
import { loadState } from '../state/agent-state.ts';
import { ReActAgent } from '../agent/react-agent.ts';
import { textOf } from '../message/message-text.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { EchoMemory } from './branch/echo-memory.ts';
import { MemoryStore } from './memory-store.ts';
import { SessionMemory } from './session-memory.ts';

afterEach(() => void vi.unstubAllGlobals());

async function storeWith(entries: unknown, maxValueBytes?: number): Promise<MemoryStore> {
  const store = new MemoryStore(maxValueBytes === undefined ? {} : { maxValueBytes });
  await store.setMany(entries as StoredSessions['entries']);
  return store;
}

test('sessions that release 0.1 stored open and continue', async () => {
  const stored = memoryStore as unknown as StoredSessions;
  const store = await storeWith(stored.entries);
  await expect(expectStoredSessions(store, stored)).resolves.toBeUndefined();
});

test('sessions that release 0.1 stored also open on a page without HTTPS', async () => {
  const stored = memoryStore as unknown as StoredSessions;
  const store = await storeWith(stored.entries);
  vi.stubGlobal('crypto', {
    randomUUID: crypto.randomUUID.bind(crypto),
    getRandomValues: crypto.getRandomValues.bind(crypto),
  });
  await expect(expectStoredSessions(store, stored)).resolves.toBeUndefined();
});

test('a message that release 0.1 split over several values can be read', async () => {
  const store = await storeWith(splitValues.entries, 2000);
  const texts = (await new SessionMemory(store, 'split').read()).map(textOf);
  expect(texts).toEqual(['長い'.repeat(1500), 'Short.']);
});

test('echoes that release 0.1 issued are accepted', async () => {
  const store = await storeWith(echo.entries);
  const texts = ['First', 'One.', 'Second', '', '', 'Two.', 'Instead of second', 'Other.'];
  for (const held of echo.echoes) {
    const memory = new EchoMemory(store, 'echo', { secrets: echo.secrets, echo: held, waitMs: 0 });
    expect((await memory.read()).map(textOf)).toEqual(texts);
  }
});

test('a state that release 0.1 saved can be loaded, and its open approval can be decided', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'paid',
  });
  const agent = new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel(['Paid.']),
    tools: [pay],
  });
  await loadState(agent, savedState);
  const { text, toolsUsed } = await agent.call([{ toolUseId: 'p', type: 'approve' }]);
  expect([text, toolsUsed]).toEqual(['Paid.', ['pay']]);
});
