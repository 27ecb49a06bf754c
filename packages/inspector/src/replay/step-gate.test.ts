import { expect, test } from 'vitest';
import { stepGate } from './step-gate.ts';

const closed = { name: 'AgentError', code: 'ABORTED' };

test('a part that pauses before or after the abort of the signal ends', async () => {
  const controller = new AbortController();
  const gate = stepGate(controller.signal, () => {});
  const before = gate.pause();
  controller.abort();
  await expect(before).rejects.toMatchObject(closed);
  const after = gate.pause();
  let end: unknown = 'waiting';
  after.catch((error: unknown) => (end = error));
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  expect(end).toMatchObject(closed);
});

test('each step lets the part go on that waits longest, and open() lets all go on', async () => {
  const waits: boolean[] = [];
  const gate = stepGate(new AbortController().signal, (isWaiting) => waits.push(isWaiting));
  const passed: string[] = [];
  const parts = ['one', 'two', 'three'].map((part) => gate.pause().then(() => passed.push(part)));
  gate.next();
  await parts[0];
  expect(passed).toEqual(['one']);
  gate.open();
  await Promise.all(parts);
  expect(passed).toEqual(['one', 'two', 'three']);
  expect(waits.at(-1)).toBe(false);
  await gate.pause();
});
