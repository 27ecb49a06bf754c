import { expect, test, vi } from 'vitest';
import type { AgentResult } from '../../event/agent-result.ts';
import { Inbox, type InboxHandler, type JoiningCall } from './inbox.ts';

const result = { text: 'taken' } as AgentResult;

function joining(signal: AbortSignal = new AbortController().signal): JoiningCall {
  const input = { messages: [], decisions: [] };
  const admit = async (): Promise<typeof input> => input;
  return { input, options: {}, signal, result: Promise.resolve(result), admit };
}

test('offer() asks the handlers in their order, until one does not leave the request to others', () => {
  const inbox = new Inbox();
  const asked: string[] = [];
  const handler = (name: string): InboxHandler => ({ interrupt: () => void asked.push(name) });
  const takes: InboxHandler = { interrupt: () => true };
  inbox.add(handler('one'));
  inbox.add(handler('two'));
  const request = { mode: 'pause' } as const;
  expect(inbox.offer((each) => each.interrupt?.(request))).toBeUndefined();
  inbox.add(takes);
  inbox.add(handler('three'));
  expect(inbox.offer((each) => each.interrupt?.(request))).toBe(true);
  expect(asked).toEqual(['one', 'two', 'one', 'two']);
});

test('a later handler gets what earlier ones have left, once', () => {
  const inbox = new Inbox();
  const offer = vi.fn((handler: InboxHandler) => handler.interrupt?.({ mode: 'pause' }));
  inbox.keep(offer);
  inbox.add({});
  inbox.add({ interrupt: () => false });
  inbox.add({ interrupt: () => true });
  expect(offer.mock.results.map(({ value }) => value)).toEqual([undefined, false]);
});

test('join() resolves with the result of the first handler that takes the call, also a later one', async () => {
  const inbox = new Inbox();
  inbox.add({ join: () => undefined });
  const never = new Promise(() => {});
  const joined = inbox.join(joining(), never);
  inbox.add({ join: async () => result });
  expect(await joined).toBe(result);
});

test('join() resolves with nothing when the call has its turn, and then no handler gets it', async () => {
  const inbox = new Inbox();
  expect(await inbox.join(joining(), Promise.resolve())).toBeUndefined();
  const join = vi.fn(async () => result);
  inbox.add({ join });
  expect(join).not.toHaveBeenCalled();
});

test('join() rejects if the new call is aborted, and then no handler gets it', async () => {
  const inbox = new Inbox();
  const controller = new AbortController();
  const joined = inbox.join(joining(controller.signal), new Promise(() => {}));
  controller.abort(new Error('gone'));
  await expect(joined).rejects.toThrow('gone');
  const join = vi.fn(async () => result);
  inbox.add({ join });
  expect(join).not.toHaveBeenCalled();
});

test('a handler that refuses a call by a rejection or an exception fails only this call', async () => {
  const refusal = new Error('not this one');
  const inbox = new Inbox();
  const never = new Promise(() => {});
  const early = inbox.join(joining(), never);
  inbox.add({
    join: () => {
      throw refusal;
    },
  });
  await expect(early).rejects.toBe(refusal);
  await expect(inbox.join(joining(), never)).rejects.toBe(refusal);
  const other = new Inbox();
  other.add({ join: () => Promise.reject(refusal) });
  await expect(other.join(joining(), never)).rejects.toBe(refusal);
});
