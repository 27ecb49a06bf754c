import { expect, test } from 'vitest';
import { ChatGate } from './chat-gate.ts';

/** Returns a promise that the test settles. */
function held() {
  let end = (): void => {};
  const promise = new Promise<void>((resolve) => (end = resolve));
  return { promise, end };
}

/** Creates a gate, and notes what it has let pass. */
function createGate() {
  const chat = { isBusy: false, whenIdle: Promise.resolve(true) };
  const gate = new ChatGate(chat);
  const passed: string[] = [];
  const pass = (name: string): Promise<void> => gate.whenFree().then(() => void passed.push(name));
  return { chat, gate, passed, pass };
}

test('a request waits for the first load, also if it comes before the chat has connected', async () => {
  const { gate, passed, pass } = createGate();
  const loading = held();
  const passing = pass('early');
  gate.open(loading.promise);
  await Promise.resolve();
  expect(passed).toEqual([]);
  loading.end();
  await passing;
  expect(passed).toEqual(['early']);
});

test('a request waits for a later load, for an answer, and for a job', async () => {
  const { chat, gate, passed, pass } = createGate();
  gate.open(Promise.resolve());
  await pass('free');
  const loading = held();
  const answering = held();
  const job = held();
  void gate.load(loading.promise);
  void gate.hold(job.promise);
  Object.assign(chat, { isBusy: true, whenIdle: answering.promise.then(() => true) });
  const passing = pass('later');
  loading.end();
  await loading.promise;
  expect(passed).toEqual(['free']);
  chat.isBusy = false;
  answering.end();
  await gate.whenIdle();
  expect(passed).toEqual(['free']);
  job.end();
  await passing;
  expect(passed).toEqual(['free', 'later']);
});

test('a job that fails rejects for its caller, and lets requests pass', async () => {
  const { gate, passed, pass } = createGate();
  gate.open(Promise.resolve());
  const job = gate.hold(Promise.reject(new Error('It goes on.')));
  const passing = pass('after');
  await expect(job).rejects.toThrow('It goes on.');
  await passing;
  expect(passed).toEqual(['after']);
});

test('a decision waits for a job, but not while an answer is being read', async () => {
  const { chat, gate } = createGate();
  gate.open(Promise.resolve());
  const job = held();
  void gate.hold(job.promise);
  const passed: string[] = [];
  const deciding = gate.whenReleased().then(() => void passed.push('at rest'));
  await new Promise((resolve) => setTimeout(resolve));
  expect(passed).toEqual([]);
  chat.isBusy = true;
  await gate.whenReleased();
  chat.isBusy = false;
  job.end();
  await deciding;
  expect(passed).toEqual(['at rest']);
});
