import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { fakeClock, type FakeClock } from './fake-clock.ts';
import { fakeDate } from './fake-date.ts';

const start = Date.UTC(2026, 0, 1);

test('fakeClock() replaces every clock, and each one shows the same time', async () => {
  const clock = fakeClock({ now: start });
  const origin = performance.now();
  const times: (readonly [string, number])[] = [];
  const note = (name: string) => (): void => void times.push([name, performance.now() - origin]);
  setTimeout(note('timeout'), 1000);
  const interval = setInterval(note('interval'), 400);
  const signal = AbortSignal.timeout(900);
  signal.addEventListener('abort', note('signal'));
  await clock.advance(1000);
  expect(times).toEqual([
    ['interval', 400],
    ['interval', 800],
    ['signal', 900],
    ['timeout', 1000],
  ]);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
  expect([Date.now(), new Date().getTime(), clock.now()]).toEqual(Array(3).fill(start + 1000));
  expect(clock.pendingTimers()).toBe(1);
  clearInterval(interval);
  expect(clock.pendingTimers()).toBe(0);
});

test('if the engine has frames, they wait for the fake clock', async () => {
  const { requestAnimationFrame: realFrame } = globalThis;
  const clock = fakeClock();
  if (!realFrame) return;
  let frames = 0;
  requestAnimationFrame(() => (frames += 1));
  await new Promise((resolve) => realFrame(resolve));
  expect(frames).toBe(0);
  await clock.advance(20);
  expect(frames).toBe(1);
});

test('promises and messages continue while the fake clock stands still', async () => {
  fakeClock({ now: start });
  const { port1, port2 } = new MessageChannel();
  const message = new Promise((resolve) => port1.addEventListener('message', resolve));
  port1.start();
  port2.postMessage(null);
  await message;
  port1.close();
  await Promise.resolve();
  expect(Date.now()).toBe(start);
});

test('the end of a test restores every clock', () => {
  const read = (): unknown[] => [setTimeout, Date, performance.now, AbortSignal.timeout];
  const realClocks = read();
  // What a test registers first runs last.
  onTestFinished(() => {
    expect(vi.isFakeTimers()).toBe(false);
    expect(read()).toEqual(realClocks);
  });
  fakeClock();
  for (const [index, clock] of read().entries()) expect(clock).not.toBe(realClocks[index]);
});

describe('fakeClock() in beforeEach', () => {
  let clock: FakeClock;
  beforeEach(() => void (clock = fakeClock({ now: start })));

  test.each([1, 2])('gives test %i a clock of its own', async () => {
    expect(clock.now()).toBe(start);
    await clock.advance(1);
    expect(Date.now()).toBe(start + 1);
  });
});

test('advanceUntil() moves the clock until the promise settles, and passes on its value or error', async () => {
  const clock = fakeClock({ now: start });
  const later = new Promise((resolve) => setTimeout(resolve, 95, 'value'));
  expect(await clock.advanceUntil(later)).toBe('value');
  expect(clock.now()).toBe(start + 100);
  const failing = new Promise((_resolve, reject) => setTimeout(reject, 1, new Error('late')));
  await expect(clock.advanceUntil(failing, 1)).rejects.toThrow('late');
  setTimeout(() => {}, 5000);
  await clock.runAll();
  expect(clock.now()).toBe(start + 5101);
});

test('advanceSync() runs timers before it returns', () => {
  const clock = fakeClock();
  let hasFired = false;
  setTimeout(() => (hasFired = true), 10);
  clock.advanceSync(10);
  expect(hasFired).toBe(true);
});

test('jumpDate() moves only the date', async () => {
  const clock = fakeClock({ now: start });
  const origin = performance.now();
  const firedAt: number[] = [];
  const note = (): void => void firedAt.push(performance.now() - origin);
  setTimeout(note, 100);
  const interval = setInterval(note, 60);
  clock.jumpDate(3_600_000);
  expect(Date.now()).toBe(start + 3_600_000);
  expect(firedAt).toEqual([]);
  await clock.advance(60);
  clock.jumpDate(-7_200_000);
  await clock.advance(60);
  expect(Date.now()).toBe(start - 3_600_000 + 120);
  expect(firedAt).toEqual([60, 100, 120]);
  expect(performance.now() - origin).toBe(120);
  clearInterval(interval);
});

test('waitFor() waits for real work while the clock stands still', async () => {
  const clock = fakeClock({ now: start });
  let isDone = false;
  const body = new Response('text').text().then(() => (isDone = true));
  const checked = clock.waitFor(async () => {
    expect(isDone).toBe(true);
    return 'checked';
  });
  expect(await checked).toBe('checked');
  await body;
  expect(clock.now()).toBe(start);
});

test('waits on a fake clock end with their test', async () => {
  const waits: Promise<unknown>[] = [];
  onTestFinished(async () => {
    await expect(waits[0]).rejects.toThrow('not yet');
    await expect(waits[1]).rejects.toThrow('The test has ended');
  });
  const clock = fakeClock();
  const refuse = (): never => {
    throw new Error('not yet');
  };
  waits.push(clock.waitFor(refuse), clock.advanceUntil(new Promise(() => {})));
  for (const wait of waits) wait.catch(() => {});
  await clock.advance(1);
});

test('fakeDate() replaces only the date, until the test ends or restores it', async () => {
  const { Date: realDate } = globalThis;
  const { setTimeout: realTimeout } = globalThis;
  onTestFinished(() => expect(Date).toBe(realDate));
  const before = new Date();
  const date = fakeDate(start);
  expect([Date.now(), new Date().getTime(), Date()]).toEqual([start, start, String(new Date())]);
  expect(new Date(5).getTime()).toBe(5);
  expect(before).toBeInstanceOf(Date);
  expect(new Date()).toBeInstanceOf(realDate);
  date.set(start + 1);
  expect(Date.now()).toBe(start + 1);
  expect(setTimeout).toBe(realTimeout);
  await expect.poll(() => Date.now()).toBe(start + 1);
  expect(() => fakeDate(1)).toThrow('fakeDate() works once at a time.');
  date.restore();
  expect(Date).toBe(realDate);
  fakeDate(start);
});

describe('a test that mixes fake and real time fails at once', () => {
  test.each([
    ['vi.useFakeTimers()', () => vi.useFakeTimers()],
    ['vi.useRealTimers()', () => vi.useRealTimers()],
    ['vi.setSystemTime()', () => vi.setSystemTime(0)],
  ])('if it calls %s', (name, call) => {
    const sentence = `Use fakeClock() of test/clock/fake-clock.ts, not ${name}`;
    expect(call).toThrow(sentence);
    expect(vi.isFakeTimers()).toBe(false);
    fakeClock();
    expect(call).toThrow(sentence);
    expect(vi.isFakeTimers()).toBe(true);
  });

  test.each([
    ['expect.poll()', async () => void (await expect.poll(() => 1).toBe(1))],
    ['vi.waitFor()', async () => vi.waitFor(() => 1)],
    ['vi.waitUntil()', async () => vi.waitUntil(() => true)],
  ])('if it calls %s under a fake clock', async (name, call) => {
    await call();
    fakeClock();
    const sentence = `${name} measures real time, but this test has a fake clock.`;
    await expect(call()).rejects.toThrow(sentence);
  });

  test.each<[spied: string, spy: () => unknown]>([
    ["Date, 'now'", () => vi.spyOn(Date, 'now')],
    ["performance, 'now'", () => vi.spyOn(performance, 'now')],
    ["globalThis, 'Date'", () => vi.spyOn(globalThis, 'Date')],
  ])('if it spies on a real clock with vi.spyOn(%s)', (spied, spy) => {
    const { Date: realDate } = globalThis;
    const { now } = Date;
    const { now: performanceNow } = performance;
    expect(spy).toThrow(`vi.spyOn(${spied}) replaces one clock and leaves the others real.`);
    expect([Date, Date.now, performance.now]).toEqual([realDate, now, performanceNow]);
  });

  test('if it stubs a clock', () => {
    const { setTimeout: realTimeout } = globalThis;
    for (const name of ['setTimeout', 'clearInterval', 'Date', 'performance']) {
      const sentence = `vi.stubGlobal('${name}') replaces one clock and leaves the others real. Use fakeClock()`;
      expect(() => vi.stubGlobal(name, undefined)).toThrow(sentence);
    }
    expect(setTimeout).toBe(realTimeout);
    vi.stubGlobal('isoloopStub', 1);
    expect(globalThis).toMatchObject({ isoloopStub: 1 });
    vi.unstubAllGlobals();
  });

  test('if it uses fakeClock() and fakeDate()', () => {
    const date = fakeDate(start);
    expect(() => fakeClock()).toThrow('fakeClock() does not work after fakeDate().');
    date.restore();
    fakeClock();
    expect(() => fakeDate(start)).toThrow('This test has a fake clock');
  });

  test('if real time would move its fake clock', () => {
    fakeClock();
    expect(() => vi.setTimerTickMode('interval', 1)).toThrow('Real time may not move a fake clock');
  });

  test('if its real timers are pending when the fake clock begins', async () => {
    await new Promise((resolve) => setTimeout(resolve));
    const minute = setTimeout(() => {}, 60_000);
    const hour = setInterval(() => {}, 3_600_000);
    expect(() => fakeClock()).toThrow(
      'this test has started a timer (setTimeout, 60000 ms), a timer (setInterval, 3600000 ms). Call fakeClock() first.',
    );
    expect(vi.isFakeTimers()).toBe(false);
    clearTimeout(minute);
    clearInterval(hour);
    fakeClock();
    expect(vi.isFakeTimers()).toBe(true);
  });

  test('if it calls fakeClock() twice', () => {
    fakeClock();
    expect(() => fakeClock()).toThrow('fakeClock() works once in a test.');
  });
});
