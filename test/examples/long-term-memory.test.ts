import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region long-term
import { MemoryStore, ReActAgent, textOf } from '@isoloop/core';
import { longTermMemory, type LongTermMemory, type LongTermRecord } from '@isoloop/recall';
import { keywordMemory } from '@isoloop/recall'; // npm install minisearch
// #endregion
// #region own-long-term
// #endregion

test('a session recalls what another session recorded', async () => {
  const model = new ScriptedModel(['A lovely name.', 'Momo.', 'Hm.']);
  const userId = 'ann';

  // #region long-term
  const memory = keywordMemory({ store: new MemoryStore(), namespace: userId }); // searches only this namespace
  const remembering = longTermMemory({ memory });

  const agent = new ReActAgent({
    name: 'assistant',
    model,
    sessionId: 'monday',
    use: [remembering],
  });
  await agent.call('私の猫の名前はモモです。');
  await remembering.settled(); // call this before a shutdown; replies never wait for it

  const later = new ReActAgent({
    name: 'assistant',
    model,
    sessionId: 'friday',
    use: [longTermMemory({ memory })],
  });
  const { text } = await later.call('猫の名前は?'); // the request contains Monday's message
  // #endregion

  expect(text).toBe('Momo.');
  const recalled = model.requests[1]?.messages[0];
  expect(recalled).toMatchObject({ role: 'user', name: 'long_term_memory' });
  expect(textOf(recalled!)).toContain('モモ');
  expect((await later.messages()).map(textOf)).toEqual(['猫の名前は?', 'Momo.']);
  expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual([
    'record_to_memory',
    'retrieve_from_memory',
  ]);

  const told: string[] = [];
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const waitUntil = (recording: Promise<void>): void =>
    void recording.then(() => told.push('recorded'));
  // #region long-term-options
  const careful = longTermMemory({
    memory,
    mode: 'auto', // 'tool': the model searches and records through tools; default 'both'
    scope: 'other-sessions',
    select: ({ input, answer }) => [...input.filter(({ role }) => role === 'user'), answer], // the messages of a turn to record
    waitUntil, // for hosts that stop after the reply
    onError: (error, phase) => console.log(phase, error.code), // the call continues
  });
  // #endregion

  await new ReActAgent({
    name: 'assistant',
    model,
    sessionId: 'sunday',
    use: [careful],
  }).call('名前は?');
  await careful.settled();
  expect(told).toEqual(['recorded']);
  expect(log).not.toHaveBeenCalled();
  expect(model.requests[2]?.tools).toEqual([]);

  // #region long-term-delete
  await remembering.settled();
  await memory.deleteSession('monday');
  await memory.clear(); // clears the whole namespace
  // #endregion

  expect(await memory.retrieve('モモ')).toEqual([]);
});

test('a failure of a custom long-term memory does not fail the agent call', async () => {
  const model = new ScriptedModel(['Hi.', 'Hi again.']);
  const failures: string[] = [];
  const records: LongTermRecord[] = [];
  const service = {
    search: async (_query: string, _limit: number): Promise<readonly LongTermRecord[]> => records,
    add: async (text: string, sessionId: string) => {
      if (records.length) throw new Error('full');
      records.push({ id: '1', text, sessionId, createdAt: '2026-01-01T00:00:00Z' });
    },
    remove: async () => {},
  };

  // #region own-long-term
  const vectors: LongTermMemory = {
    retrieve: (query, { limit = 5 } = {}) => service.search(query, limit),
    record: (messages, { sessionId }) => service.add(JSON.stringify(messages), sessionId),
    delete: () => service.remove(),
    deleteSession: () => service.remove(),
    clear: () => service.remove(),
  };
  // #endregion

  const extension = longTermMemory({
    memory: vectors,
    onError: (error, phase) => failures.push(`${phase}: ${error.message}`),
  });
  const agent = new ReActAgent({ name: 'assistant', model, use: [extension] });
  await agent.call('Hello');
  await extension.settled();
  expect((await agent.call('Hello')).text).toBe('Hi again.');
  await extension.settled();
  expect(textOf(model.requests[1]!.messages[0]!)).toContain('Hi.');
  expect(failures).toEqual(['record: full']);
});
