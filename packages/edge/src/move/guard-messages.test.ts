import { assistantMessage, ReActAgent } from '@isoloop/core';
import { inputGuard } from '@isoloop/guards';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { guardMessages } from './guard-messages.ts';

test('a guard that never answers ends the import, so that the session takes turns again', async () => {
  const use = [inputGuard('never', () => new Promise(() => {}))];
  const agent = (): ReActAgent =>
    new ReActAgent({ name: 'assistant', model: new ScriptedModel([]), use });
  const setup = { env: {}, user: 'ann', sessionId: 's' };
  const settings = { agent, models: ['m'] };
  const judging = guardMessages([assistantMessage('Hi.')], { settings, setup, guardsMs: 20 });
  await expect(judging).rejects.toMatchObject({ code: 'CALL_TIMEOUT' });
});
