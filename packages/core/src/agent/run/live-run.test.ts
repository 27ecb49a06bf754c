import { expect, test, vi } from 'vitest';
import { invalidInput } from '../../error/agent-error.ts';
import { provide, contextToken } from '../../tool/context-token.ts';
import { userMessage } from '../../message/msg.ts';
import { liveRun } from '@test/support/live-run.ts';

test('the options of the agent call override those of the agent', () => {
  const { live } = liveRun({
    generate: { temperature: 0, maxTokens: 5 },
    call: { temperature: 1, maxTokens: null },
  });
  expect(live.options.generate).toEqual({ temperature: 1 });
});

test('an id that the log cannot store is refused at once', () => {
  expect(() => liveRun({ generateId: () => '' })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('values of the agent call come before those of the agent, for tools', () => {
  const token = contextToken<string>('who');
  const { live } = liveRun({
    toolContext: [provide(token, 'agent')],
    call: { toolContext: [provide(token, 'call')] },
  });
  expect(live.tools.context.get(token)).toBe('call');
});

test("the caller's signal aborts a run from its begin to its end", () => {
  const aborted = liveRun({ call: { signal: AbortSignal.abort(new Error('too late')) } });
  expect(aborted.live.halt.stopped).toBe('aborted');
  const controller = new AbortController();
  const { live } = liveRun({ call: { signal: controller.signal } });
  live.end();
  controller.abort();
  expect(live.halt.stopped).toBeUndefined();
});

test('interrupt() stops a run that has no ending yet, and then returns false', () => {
  const { live } = liveRun();
  live.halt.enterStage('finishing');
  expect(live.interrupt('Stop.')).toBe(false);
  const other = liveRun().live;
  const message = userMessage('Stop.');
  expect(other.interrupt(message)).toBe(true);
  expect(other.halt.cause).toEqual({ kind: 'interrupted', message });
});

test('interrupt() throws INVALID_INPUT for a wrong request, and CONFIGURATION for a mode that nobody handles', () => {
  const { live } = liveRun();
  expect(() => live.interrupt({ mode: 'slow' } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  );
  expect(() => live.interrupt({ mode: 'pause' })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', details: { middleware: 'steering' } }),
  );
});

test('a handler takes an interrupt, or leaves it to the next one and then to the run', () => {
  const { live } = liveRun();
  const takes = vi.fn(() => false);
  live.inbox.add({ interrupt: () => undefined });
  live.inbox.add({ interrupt: takes });
  expect(live.interrupt()).toBe(false);
  expect(takes).toHaveBeenCalledWith({ mode: 'stop', message: undefined });
  expect(live.halt.stopped).toBeUndefined();
});

test('a request that came before its handler, and that the handler refuses, becomes a warning of the result and no text on the console', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { live } = liveRun({ use: [{ name: 'steering', on: {} }] });
  expect(live.interrupt({ mode: 'inject', messages: 'more' })).toBe(true);
  live.inbox.add({
    interrupt: () => {
      throw invalidInput('The id is not new.');
    },
  });
  expect(warn).not.toHaveBeenCalled();
  expect(live.totals.warnings).toEqual([
    expect.objectContaining({ code: 'INVALID_INPUT', message: 'The id is not new.' }),
  ]);
  warn.mockRestore();
});

test('code that changes a run is refused before the log is read, and after the end', async () => {
  const { live } = liveRun();
  expect(live.alive()).toBe(live);
  expect(() => live.writing()).toThrow('from `wrapSettle` on');
  await live.log.open();
  expect(live.writing()).toBe(live);
  live.end();
  expect(() => live.writing()).toThrow(expect.objectContaining({ code: 'ABORTED' }));
});
