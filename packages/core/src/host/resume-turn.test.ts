import { assistantMessage, MemoryStore, SessionMemory, userMessage, type Msg } from '@isoloop/core';
import { expect, test, vi } from 'vitest';
import { resumeTurn } from './resume-turn.ts';
import type { TurnRequest } from './turn-request.ts';

const question = userMessage('Tea?');
const request = { kind: 'message', message: question } as const;
const call = assistantMessage([{ type: 'tool_use', id: 'c1', name: 'pay', input: {} }]);
const ofRun = (message: Msg): Msg => ({ ...message, metadata: { runId: 'r' } });

/** Returns a log that a process left when it died during a run. */
async function left(...messages: readonly Msg[]): Promise<SessionMemory> {
  const memory = new SessionMemory(new MemoryStore(), 's');
  if (messages.length) await memory.note([{ kind: 'run-begin', runId: 'r' }]);
  await memory.append(messages);
  return memory;
}

test.each<[what: string, messages: readonly Msg[], request: TurnRequest, expected: unknown]>([
  ['of which the log has nothing', [], request, 'begins'],
  ['of which the log has the question', [ofRun(question)], request, { input: undefined }],
  ['that waits for a tool', [ofRun(question), call], request, { input: undefined }],
  ['without a message in an empty log', [], { kind: 'continue' }, undefined],
])('a turn %s is resumed', async (_what, messages, sentRequest, expected) => {
  const begin = vi.fn(async () => ({ input: question }));
  const resumed = await resumeTurn({ memory: await left(...messages) }, sentRequest, begin);
  expect(begin.mock.calls.length > 0 ? 'begins' : resumed).toEqual(expected);
});

test('a turn whose answer is stored with its end is not resumed', async () => {
  const memory = await left(ofRun(question), assistantMessage('Yes.'));
  await memory.flush({ runId: 'r', reason: 'stop', calls: new Map() });
  const begin = vi.fn();
  expect(await resumeTurn({ memory }, request, begin)).toBeUndefined();
  expect(begin).not.toHaveBeenCalled();
});

test('an interrupted turn is not resumed, and the log gets the end of its run', async () => {
  const partial = assistantMessage('Half', { metadata: { partial: 'interrupted' } });
  const memory = await left(ofRun(question), partial);
  expect(await resumeTurn({ memory }, request, vi.fn())).toBeUndefined();
  expect(await memory.view()).toMatchObject({ openRunId: undefined, endReason: 'interrupted' });
});

test('a turn that closed tool calls of an earlier one begins again, and knows which tools ran', async () => {
  const memory = await left(ofRun(userMessage('Pay')), call);
  await memory.flush({ runId: 'r', reason: 'suspended', calls: new Map() });
  await memory.note([{ kind: 'run-begin', runId: 'second' }], { write: true });
  const begin = vi.fn(async () => ({ input: question }));
  expect(await resumeTurn({ memory }, request, begin)).toEqual({ input: question });
  const [options] = begin.mock.calls[0] as unknown as [
    { readonly isToolGone: (call: never, state: object) => boolean },
  ];
  expect(options.isToolGone({} as never, { started: true })).toBe(true);
  expect(options.isToolGone({} as never, {})).toBe(false);
});
