import {
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  type AgentResult,
  type KeyValueStore,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect } from 'vitest';

/**
 * A file of `fixtures/release-0.1/sessions`: the values of a store, and the messages that were read
 * from it then.
 */
export interface StoredSessions {
  readonly entries: readonly (readonly [key: string, value: string])[];
  readonly seen: Readonly<Record<string, unknown>>;
}

const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => 'paid',
});

/**
 * Checks that a store with the sessions of release 0.1 shows the same conversations, and that they
 * continue.
 */
export async function expectStoredSessions(
  store: KeyValueStore,
  { seen }: StoredSessions,
): Promise<void> {
  const read = async (id: string): Promise<readonly string[]> => {
    const messages = await new SessionMemory(store, id).read();
    return messages.map((message) => `${message.role}: ${textOf(message)}`);
  };
  for (const id of ['plain', 'summary', 'edited', 'decided', 'interrupted', 'crashed'])
    expect(await read(id), id).toEqual(seen[id]);
  for (const id of ['long', 'compacted']) expect((await read(id)).length, id).toBe(seen[id]);

  const approved = await open(store, 'approval', ['Paid.']).call([
    { toolUseId: 'p', type: 'approve' },
  ]);
  expect([approved.reason, approved.toolsUsed, approved.text]).toEqual(['stop', ['pay'], 'Paid.']);

  // Its tool had begun, so it must not run again.
  const resumed = await resume(store, 'crashed');
  expect([resumed.reason, resumed.toolsUsed, resumed.text]).toEqual(['stop', [], 'Resumed.']);

  expect((await new SessionMemory(store, 'plain').view()).state).toMatchObject({
    values: { cart: ['bread', 'milk'] },
  });
  expect(await new SessionMemory(store, 'summary').summaries.get('summary')).toContain('Summary');
}

function resume(store: KeyValueStore, id: string): Promise<AgentResult> {
  return open(store, id, ['Resumed.']).call();
}

function open(
  store: KeyValueStore,
  sessionId: string,
  replies: readonly ScriptedReply[],
): ReActAgent {
  const memory = new SessionMemory(store, sessionId);
  return new ReActAgent({
    name: 'assistant',
    sessionId,
    memory,
    model: new ScriptedModel(replies),
    tools: [pay],
  });
}
