import { expect, test, vi } from 'vitest';
import { BoundedStep } from './bounded-step.ts';

const refused = new Error('refused');

test('a step inside a wrapper runs until it settles, also with an error', async () => {
  let fail!: (error: Error) => void;
  const step = new BoundedStep(
    () => new Promise<string>((_resolve, reject) => (fail = reject)),
    () => refused,
  );
  step.watch();
  expect([step.isRunning, step.work]).toEqual([false, undefined]);
  const work = step.begin('in');
  expect([step.isRunning, step.work]).toEqual([true, work]);
  fail(new Error('broken'));
  await step.settled;
  expect(step.isRunning).toBe(false);
  await expect(work).rejects.toThrow('broken');
});

test('a second begin is refused, and so is one after the end of the wrapper', async () => {
  const inner = vi.fn(async (input: string) => input);
  const step = new BoundedStep(inner, () => refused);
  expect(await step.begin('one')).toBe('one');
  await expect(step.begin('two')).rejects.toBe(refused);
  const late = new BoundedStep(inner, () => refused);
  late.close();
  await expect(late.begin('late')).rejects.toBe(refused);
  expect(inner.mock.calls).toEqual([['one']]);
});
