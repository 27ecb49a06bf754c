import { AgentError, ReActAgent } from '@isoloop/core';
import { eventWith } from '@isoloop/core/host';
import { failureText, jsonMode } from '@isoloop/core/output';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { objectEncoder } from './object-encoder.ts';

const model = new ScriptedModel(['{"city":"Rome"}']);

test('a client gets the object of a structured answer, and nothing else', async () => {
  const use = [jsonMode()];
  const agent = new ReActAgent({ name: 'a', model, use });
  const encode = objectEncoder(agent);
  const texts: unknown[] = [];
  for await (const batch of agent.stream('A city').batches()) texts.push(...encode(batch));
  expect(JSON.parse(texts.join(''))).toEqual({ city: 'Rome' });
});

test('an answer that cannot begin is the text of its failure', () => {
  const error = new AgentError('AGENT_BUSY', 'The agent is busy.').toJSON();
  expect(objectEncoder(undefined)([eventWith({ type: 'error', error })])).toEqual([
    failureText(error),
  ]);
});

test('an agent without an output mode has no objects', () => {
  const agent = new ReActAgent({ name: 'a', model });
  expect(() => objectEncoder(agent)).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
