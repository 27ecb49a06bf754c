import { expect, test, vi } from 'vitest';
import { invalidInput } from '../../error/agent-error.ts';
import { provide, contextToken } from '../../tool/context-token.ts';
import { userMessage } from '../../message/msg.ts';
import { liveRun } from '@test/support/live-run.ts';

test('the options of the agent call override those of the agent', () => {
  const { run } = liveRun({
    generate: { temperature: 0, maxTokens: 5 },
    call: { temperature: 1, maxTokens: null },
  });
  expect(run.options.generate).toEqual({ temperature: 1 });
});

test('an id that the log cannot store is refused at once', () => {
  expect(() => liveRun({ generateId: () => '' })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('values of the agent call come before those of the agent, for tools', () => {
  const token = contextToken<string>('who');
  const { run } = liveRun({
    toolContext: [provide(token, 'agent')],
    call: { toolContext: [provide(token, 'call')] },
  });
  expect(run.tools.context.get(token)).toBe('call');
});

test("the caller's signal aborts a run from its begin to its end", () => {
  const aborted = liveRun({ call: { signal: AbortSignal.abort(new Error('too late')) } });
  expect(aborted.run.ending.stopped).toBe('aborted');
  const controller = new AbortController();
  const { run } = liveRun({ call: { signal: controller.signal } });
  run.end();
  controller.abort();
  expect(run.ending.stopped).toBeUndefined();
});

test('interrupt() stops a run that has no ending yet, and then returns false', () => {
  const { run } = liveRun();
  run.ending.enterStage('ending');
  expect(run.interrupt('Stop.')).toBe(false);
  const other = liveRun().run;
  const message = userMessage('Stop.');
  expect(other.interrupt(message)).toBe(true);
  expect(other.ending.halt).toEqual({ kind: 'interrupted', message });
});

test('interrupt() throws INVALID_INPUT for a wrong request, and CONFIGURATION for a mode that nobody handles', () => {
  const { run } = liveRun();
  expect(() => run.interrupt({ mode: 'slow' } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  );
  expect(() => run.interrupt({ mode: 'pause' })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', details: { middleware: 'steering' } }),
  );
});

test('a handler takes an interrupt, or leaves it to the next one and then to the run', () => {
  const { run } = liveRun();
  const takes = vi.fn(() => false);
  run.inbox.add({ interrupt: () => undefined });
  run.inbox.add({ interrupt: takes });
  expect(run.interrupt()).toBe(false);
  expect(takes).toHaveBeenCalledWith({ mode: 'stop', message: undefined });
  expect(run.ending.stopped).toBeUndefined();
});

test('a request that came before its handler, and that the handler refuses, becomes a warning of the result and no text on the console', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { run } = liveRun({ use: [{ name: 'steering', on: {} }] });
  expect(run.interrupt({ mode: 'inject', messages: 'more' })).toBe(true);
  run.inbox.add({
    interrupt: () => {
      throw invalidInput('The id is not new.');
    },
  });
  expect(warn).not.toHaveBeenCalled();
  expect(run.totals.warnings).toEqual([
    expect.objectContaining({ code: 'INVALID_INPUT', message: 'The id is not new.' }),
  ]);
  warn.mockRestore();
});

test('code that changes a run is refused in mapEvent, before the log is read, and after the end', async () => {
  const { run } = liveRun();
  run.isMapping = true;
  expect(() => run.notMapping()).toThrow('mapEvent() must not change the run.');
  expect(() => run.alive()).toThrow('mapEvent() must not change the run.');
  run.isMapping = false;
  expect(run.alive()).toBe(run);
  expect(() => run.writing()).toThrow('from `wrapSettle` on');
  await run.log.open();
  expect(run.writing()).toBe(run);
  run.end();
  expect(() => run.writing()).toThrow(expect.objectContaining({ code: 'ABORTED' }));
});
