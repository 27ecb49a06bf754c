import { expect, test } from 'vitest';
import { tool } from '../../tool/tool.ts';
import { RunTotals } from './run-totals.ts';

const plain = (name: string) =>
  tool({ name, description: name, input: { type: 'object' }, execute: () => 'ok' });

test('addUsage() adds up, and a request without a usage adds nothing', () => {
  const totals = new RunTotals();
  totals.addUsage({ inputTokens: 2, outputTokens: 1 });
  totals.addUsage(undefined);
  totals.addUsage({ inputTokens: 3, outputTokens: 1, reasoningTokens: 1 });
  expect(totals.usage).toMatchObject({ inputTokens: 5, outputTokens: 2, reasoningTokens: 1 });
});

test('noteUse() keeps each tool once, in the order of first use, without tools that give the answer', () => {
  const totals = new RunTotals();
  for (const name of ['b', 'a', 'b']) totals.noteUse(plain(name));
  totals.noteUse({ ...plain('answer'), givesAnswer: true });
  expect([...totals.toolsUsed]).toEqual(['b', 'a']);
});
