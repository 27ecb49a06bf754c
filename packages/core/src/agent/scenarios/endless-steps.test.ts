import { expect, test } from 'vitest';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { Agent } from '../agent.ts';
import type { Middleware } from '../middleware.ts';
import { liveRunOf } from '../per-run.ts';

/** More calls than any refused recursion makes, and few enough to end a test soon. */
const enough = 10_000;

/** Counts the calls of a hook or wrapper. Ends the test if nothing else ends the recursion. */
function counter(): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > enough) throw new Error('Nothing ended the recursion.');
  };
}

const event = ['step-reset', { reason: 'again' }] as const;

/** Middleware whose hook or wrapper comes to itself again, at once or after other work. */
const endless: Readonly<
  Record<string, (note: () => void, wait: () => Promise<void> | undefined) => Middleware>
> = {
  "events.emit() in a '*' hook": (note, wait) => ({
    on: {
      '*': async (_event, run) => {
        note();
        const pause = wait();
        if (pause) await pause;
        await run.events.emit(...event);
      },
    },
  }),
  'events.emit() of the same event in its hook': (note, wait) => ({
    on: {
      'pre-call': (_event, run) => run.events.emit(...event),
      'step-reset': async (_event, run) => {
        note();
        const pause = wait();
        if (pause) await pause;
        await run.events.emit(...event);
      },
    },
  }),
  'events.revise() of the same event in its hook': (note, wait) => ({
    on: {
      'post-call': async ({ message }, run) => {
        note();
        const pause = wait();
        if (pause) await pause;
        await run.events.revise('post-call', { message });
      },
    },
  }),
  'inbox.admit() in wrapInput': (note, wait) => ({
    wrapInput: async (input, next, run) => {
      note();
      const pause = wait();
      if (pause) await pause;
      return next(await run.inbox.admit(input));
    },
  }),
  'model.ask() in wrapModel': (note, wait) => ({
    wrapModel: (next) => ({
      ...next,
      async *stream(request, context) {
        note();
        const pause = wait();
        if (pause) await pause;
        await liveRunOf(context!.run!).run.model.ask(request);
        yield* next.stream(request, context);
      },
    }),
  }),
};

const cases = Object.entries(endless).flatMap(([name, create]) => [
  [`${name}, at once`, (note: () => void) => create(note, () => undefined)] as const,
  [`${name}, later`, (note: () => void) => create(note, () => Promise.resolve())] as const,
]);

test.each(cases)('%s fails the call with CONFIGURATION', async (_what, create) => {
  const model = new ScriptedModel(['Hi.']);
  const agent = new Agent({ name: 'a', model, use: [create(counter())] });
  await expect(agent.call('Hello.')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('without end') as string,
  });
});

test('a hook that sends an event and does not wait for it fails the call, too', async () => {
  const note = counter();
  const hook: Middleware = {
    on: {
      '*': (_event, run) => {
        note();
        void run.events.emit(...event);
      },
    },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use: [hook] });
  await expect(agent.call('Hello.')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test('a hook may answer an event with another one, and a wrapper may send many at once', async () => {
  const seen: string[] = [];
  const sending: Middleware = {
    wrapSettle: async (input, next, run) => {
      const sent = Array.from({ length: 2000 }, () => run.events.emit(...event));
      await Promise.all(sent);
      return next(input);
    },
    on: {
      '*': async ({ type }, run) => {
        if (type === 'pre-call') await run.events.emit(...event);
      },
      'step-reset': async ({ reason }) => {
        await Promise.resolve();
        seen.push(reason);
      },
    },
  };
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use: [sending] });
  expect((await agent.call('Hello.')).text).toBe('Hi.');
  expect(seen).toHaveLength(2001);
});
