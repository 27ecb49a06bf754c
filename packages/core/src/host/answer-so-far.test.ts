import { createUiMessageEncoder, type UiChunk } from '@isoloop/core/stream';
import { MemoryStore, ReActAgent, SessionMemory, tool, userMessage } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { answerSoFar, withEarlierAnswer } from './answer-so-far.ts';

test('a reader of a continued answer gets the stored beginning after the start', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'paid',
  });
  const model = new ScriptedModel([
    { text: 'First I pay.', toolCalls: [{ name: 'pay', id: 'c1' }] },
    'Done.',
  ]);
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [pay] });
  expect(await answerSoFar(memory)).toEqual([]);
  await agent.call(userMessage('Pay'));
  const earlierMessages = await answerSoFar(memory);
  const encoder = withEarlierAnswer(createUiMessageEncoder(), earlierMessages);
  const chunks: UiChunk[] = [];
  const stream = agent.stream([{ toolUseId: 'c1', type: 'approve' }]);
  for await (const batch of stream.batches()) chunks.push(...encoder.encode(batch));
  const shown = chunks.map((chunk) => ('delta' in chunk ? chunk.delta : chunk.type));
  expect(shown.slice(0, 4)).toEqual(['start', 'start-step', 'text-start', 'First I pay.']);
  expect(shown).toContain('tool-output-available');
  expect(shown).toContain('Done.');
});
