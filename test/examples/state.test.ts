import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region state
import { ReActAgent } from '@isoloop/core';
import { loadState, saveState } from '@isoloop/core/state';
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
    'suspendedRun',
    'state',
  ]);
  expect(elsewhere.status).toMatchObject({ interrupted: false, suspendedRun: undefined });
});
