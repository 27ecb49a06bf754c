import { expect, test } from 'vitest';
import * as vitest from 'vitest';
import { userMessage } from '../message/msg.ts';
import { memoryConformance } from '../testing/memory-conformance.ts';
import { InMemoryMemory } from './in-memory-memory.ts';

memoryConformance(vitest, 'InMemoryMemory', () => new InMemoryMemory());

test('InMemoryMemory starts with the given messages', async () => {
  const messages = [userMessage('hi')];
  expect(await new InMemoryMemory(messages).read()).toEqual(messages);
});
