import { ReActAgent, SessionMemory, textOf, tool, type KeyValueStore } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect } from 'vitest';

/**
 * Content of a file in `fixtures/release-0.1/sessions`: the values of a store, and the messages
 * that release 0.1 read from this store.
 */
export interface StoredSessions {
  readonly entries: readonly (readonly [key: string, value: string])[];
  readonly seen: Readonly<Record<string, unknown>>;
}

/**
 * Checks that a store with the sessions of release 0.1 still has the same conversations. Then
 * decides the open approval and continues the run that crashed.
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

  const approval = open(store, 'approval', ['Paid.']);
  const approved = await approval.agent.call([{ toolUseId: 'p', type: 'approve' }]);
  expect([approved.reason, approved.text, approval.ran]).toEqual(['stop', 'Paid.', ['pay']]);

  // The tool had started before the crash, so it must not run again.
  const crashed = open(store, 'crashed', ['Resumed.']);
  const resumed = await crashed.agent.call();
  expect([resumed.reason, resumed.text, crashed.ran]).toEqual(['stop', 'Resumed.', []]);

  expect((await new SessionMemory(store, 'plain').view()).state).toMatchObject({
    values: { cart: ['bread', 'milk'] },
  });
  expect(await new SessionMemory(store, 'summary').summaries.get('summary')).toContain('Summary');
}

/**
 * Opens a session with an agent that has the tools of the stored calls. `ran` lists the tools that
 * the agent has executed.
 */
function open(store: KeyValueStore, sessionId: string, replies: readonly ScriptedReply[]) {
  const ran: string[] = [];
  const tools = ['pay', 'hang'].map((name) =>
    tool({
      name,
      description: name,
      input: { type: 'object' },
      needsApproval: name === 'pay',
      execute: () => {
        ran.push(name);
        return 'done';
      },
    }),
  );
  const memory = new SessionMemory(store, sessionId);
  const model = new ScriptedModel(replies);
  return { agent: new ReActAgent({ name: 'assistant', sessionId, memory, model, tools }), ran };
}
