import { connectAgent } from '@isoloop/web-worker';
import { expect, onTestFinished, test } from 'vitest';

/** Returns whether any worker leads the session, that is, holds the session's lock. */
async function isLed(sessionId: string): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  return held.some(
    ({ name }) => name === `isoloop:session:${JSON.stringify([undefined, sessionId])}`,
  );
}

test.for([
  ['pagehide', 'pageshow', 'window'],
  ['freeze', 'resume', 'document'],
] as const)(
  'on the page event %s the worker stops leading its session, and on %s it leads again',
  async ([away, back, where]) => {
    const target = where === 'window' ? window : document;
    const sessionId = `life-${crypto.randomUUID()}`;
    const worker = new Worker(new URL('../../test-support/tabs.ts', import.meta.url), {
      type: 'module',
    });
    onTestFinished(() => worker.terminate());
    const agent = connectAgent(worker, {
      timeoutMs: 120_000,
      sessionId,
      options: { replies: ['fine'], database: sessionId },
    });
    await agent.messages();
    expect(await isLed(sessionId)).toBe(true);
    target.dispatchEvent(new Event(away));
    await expect.poll(() => isLed(sessionId)).toBe(false);
    const answer = agent.call('when you are back');
    target.dispatchEvent(new Event(back));
    expect((await answer).text).toBe('fine');
    expect(await isLed(sessionId)).toBe(true);
    agent.close();
    await expect.poll(() => isLed(sessionId)).toBe(false);
  },
);
