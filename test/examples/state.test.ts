import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region state
import { MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { listCheckpoints, loadState, returnToCheckpoint, saveState } from '@isoloop/core/state';
// #endregion
// #region checkpoints
// #endregion

test('saveState() and loadState() move an agent’s state', async () => {
  const model = new ScriptedModel(['Hello Ann.', 'Ann.']);

  // #region state
  const agent = new ReActAgent({ name: 'assistant', model });
  await agent.call('I am Ann.');
  const saved = JSON.stringify(await saveState(agent)); // plain JSON

  const elsewhere = new ReActAgent({ name: 'assistant', model });
  await loadState(elsewhere, JSON.parse(saved)); // replaces the agent's own state
  await elsewhere.call('Who am I?');
  // #endregion

  expect(model.requests[1]?.messages).toHaveLength(3);
  const before = await elsewhere.messages();
  const damaged = { ...(JSON.parse(saved) as object), version: 99 };
  await expect(loadState(elsewhere, damaged)).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: expect.stringContaining('99') as string,
  });
  expect(await elsewhere.messages()).toEqual(before);
  expect(Object.keys(JSON.parse(saved) as object)).toEqual([
    'version',
    'messages',
    'activeGroups',
    'interrupted',
    'calls',
    'openRunId',
    'state',
  ]);
  expect(elsewhere.status).toMatchObject({ interrupted: false, openRunId: undefined });
});

test('returnToCheckpoint() returns a session to an earlier state', async () => {
  const model = new ScriptedModel(['A poem.', 'A longer poem.', 'Another poem.']);

  // #region checkpoints
  const memory = new SessionMemory(new MemoryStore(), 'ann');
  const poet = new ReActAgent({ name: 'poet', model, memory });
  await poet.call('Write a poem.');
  await poet.call('Make it longer.');

  const checkpoints = await listCheckpoints(poet); // the oldest first
  const answered = checkpoints.find(
    ({ reason, messageCount }) => reason === 'stop' && messageCount === 2,
  );
  await returnToCheckpoint(poet, answered!.id);
  await poet.call('Write another one.'); // the model sees nothing of the longer poem
  // #endregion

  expect(model.requests[2]?.messages).toHaveLength(3);
  expect((await listCheckpoints(poet)).length).toBeGreaterThan(checkpoints.length);
});
