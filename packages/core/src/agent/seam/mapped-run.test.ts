import { expect, test } from 'vitest';
import { liveRun } from '@test/support/live-run.ts';
import { perRun } from '../per-run.ts';
import type { RunView } from './run-view.ts';
import type { Run } from './run.ts';

/** Uses what code without types can reach in `mapEvent`. */
const changes: Readonly<Record<string, (run: Run) => unknown>> = {
  'log.edit': ({ log }) => log.edit({}),
  'log.load': ({ log }) => log.load(),
  'prompt.set': ({ prompt }) => prompt.set('New.'),
  'tools.add': ({ tools }) => tools.add([]),
  'model.ask': ({ model }) => model.ask({ messages: [], tools: [] }),
  'model.addUsage': ({ model }) => model.addUsage(undefined),
  'calls.note': ({ calls }) => calls.note([]),
  'events.emit': ({ events }) => events.emit('step-reset', { reason: 'again' }),
  'events.revise': ({ events }) => events.revise('post-call', {} as never),
  'ending.fail': ({ ending }) => ending.fail(new Error('broken')),
  'ending.interrupt': ({ ending }) => ending.interrupt(),
  'ending.suspend': ({ ending }) => ending.suspend(),
  'wait.for': ({ wait }) => wait.for(1),
  'inbox.handle': ({ inbox }) => inbox.handle({}),
};

test.each(Object.entries(changes))(
  'in mapEvent, run.%s fails with an error that names the middleware, and changes nothing',
  async (_member, change) => {
    const mapEvent = (_event: unknown, view: RunView): void => void change(view as Run);
    const { live, events } = liveRun({ use: [{ name: 'map', mapEvent }] });
    await expect(live.outbox.emit('step-reset', { reason: 'one' })).rejects.toMatchObject({
      code: 'HOOK_ERROR',
      message: 'mapEvent() of "map" failed: mapEvent() must not change the run.',
      cause: { code: 'CONFIGURATION' },
    });
    expect(events).toEqual([]);
    expect(live.halt.stopped).toBeUndefined();
    expect(live.prompt.base).toBe('');
  },
);

test('in mapEvent, everything that a RunView has can be read, and perRun() has the value of the run', async () => {
  const own = perRun((run) => ({ run }));
  const seen: unknown[] = [];
  const mapEvent = (_event: unknown, view: RunView): void => {
    const { prompt, tools, model, calls, ending, runId, messages } = view;
    seen.push(runId, messages, prompt.base, prompt.text, prompt.messages);
    seen.push(tools.added, tools.schemas, model.modelId, calls.open, ending.stopped);
    seen.push(own(view).run, { ...prompt }, JSON.stringify(ending));
  };
  const { live } = liveRun({ systemPrompt: 'Be kind.', use: [{ mapEvent }] });
  await live.outbox.emit('step-reset', { reason: 'one' });
  expect(seen).toEqual([
    live.info.runId,
    [],
    'Be kind.',
    'Be kind.',
    live.prompt.messages,
    [],
    [],
    live.model.modelId,
    [],
    undefined,
    live.run,
    { text: 'Be kind.', base: 'Be kind.', messages: live.prompt.messages },
    '{}',
  ]);
});

test('in mapEvent, a `run` that a hook has kept sends no event, because mapEvent would get it again', async () => {
  const kept = perRun((run) => run);
  let sent: Promise<void> | undefined;
  const mapEvent = (_event: unknown, view: RunView): void => {
    sent ??= kept(view).events.emit('step-reset', { reason: 'again' });
  };
  const { live, events } = liveRun({ use: [{ mapEvent }] });
  await live.outbox.emit('step-reset', { reason: 'one' });
  await expect(sent).rejects.toMatchObject({ code: 'CONFIGURATION' });
  expect(events).toMatchObject([{ reason: 'one' }]);
});
