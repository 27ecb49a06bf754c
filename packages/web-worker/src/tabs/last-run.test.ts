import {
  assistantMessage,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  userMessage,
  type Msg,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { cutOffStart, shownSoFar } from '../session/message-start.ts';
import { readLastRun } from './last-run.ts';

const asked = userMessage('Why?');
const said = (text: string, metadata = {}): Msg => assistantMessage(text, { metadata });

/** Returns a log that a crashed tab left, and an agent of another tab. */
async function left(...messages: readonly Msg[]) {
  const memory = new SessionMemory(new MemoryStore(), 's');
  await memory.note([
    { kind: 'run-begin', runId: 'left' },
    { kind: 'state', state: { tabRun: { requestId: 'w', runId: 'left', attempts: 2 } } },
  ]);
  await memory.append(messages);
  const model = new ScriptedModel(['Because.']);
  return { memory, agent: new ReActAgent({ name: 'a', sessionId: 's', memory, model }) };
}

test.each([
  ['only a question', [asked], false],
  ['half a reply', [asked, said('Half', { partial: 'aborted' })], false],
  ['an answer without a recorded end', [asked, said('Because.')], true],
] as const)(
  'another tab continues a run of which the log has %s',
  async (_what, messages, hasAnswer) => {
    const { memory, agent } = await left(...messages);
    expect(await readLastRun(memory)).toMatchObject({
      type: 'cut-off',
      requestId: 'w',
      runId: 'left',
      attempts: 2,
      hasAnswer,
    });
    // Not shown yet, because the continued run replaces these messages or sends them again.
    expect(await cutOffStart(agent)).toEqual({ continues: true });
    expect((await agent.call()).text).toBe('Because.');
    expect(await readLastRun(memory)).toMatchObject({
      type: 'ended',
      result: { reason: 'stop', text: 'Because.' },
    });
    expect(await cutOffStart(agent)).toBeUndefined();
  },
);

test.each([
  ['half a reply', [asked, said('Half', { partial: 'interrupted' })], 'Half'],
  ['the interruption message', [asked, said('What now?', { reason: 'interrupted' })], 'What now?'],
])('no tab continues an interrupted run of which the log has %s', async (_what, messages, text) => {
  const { memory, agent } = await left(...messages);
  expect(await cutOffStart(agent)).toBeUndefined();
  expect(await readLastRun(memory)).toMatchObject({
    type: 'ended',
    requestId: 'w',
    result: { reason: 'interrupted', text },
  });
  expect(await memory.view()).toMatchObject({ openRunId: undefined, endReason: 'interrupted' });
  // Nothing of the old run is shown, because a call without input continues the run.
  expect(await shownSoFar(agent)).toEqual({});
  await agent.call();
  expect((await memory.read()).map(textOf)).toEqual(['Why?', 'Because.']);
});
