import {
  assistantMessage,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  userMessage,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { contextUse } from './context-use.ts';
import { EventRuns, type InspectedEvent } from './event-runs.ts';
import { messagesInLog, runOfTurn, loggedTurns, turnsInLog } from './log-turns.ts';
import { shownRuns } from './shown-runs.ts';

const add = tool({ name: 'add', description: '', input: {}, execute: () => '3' });

/** Asks an agent two questions. Returns the records of its log and the events of each run. */
async function conversation(replies: readonly ScriptedReply[]) {
  const memory = new SessionMemory(new MemoryStore(), 's');
  let ids = 0;
  const agent = new ReActAgent({
    name: 'a',
    memory,
    model: new ScriptedModel(replies),
    tools: [add],
    now: () => (ids += 10),
  });
  const runs: InspectedEvent[][] = [];
  for (const text of ['One?', 'Two?']) {
    const events: InspectedEvent[] = [];
    for await (const event of agent.stream(text)) events.push(event as never);
    runs.push(events);
  }
  const records = [...(await memory.flushes()).values()].flat();
  return { records, runs, turns: loggedTurns(messagesInLog(records)) };
}

const replies = ['First.', { toolCalls: [{ name: 'add', id: 'x' }] }, 'Second.'];

test('a turn of the log has the same steps as its events, with prompts from the messages', async () => {
  const { turns, runs } = await conversation(replies);
  expect(turns).toHaveLength(2);
  const live = new EventRuns();
  live.add(runs[1]!);
  const logged = runOfTurn(turns[1]!);
  expect(logged.steps.map(({ kind }) => kind)).toEqual(live.runs[0]!.steps.map(({ kind }) => kind));
  expect(logged).toMatchObject({ origin: 'log', reason: 'stop', usage: live.runs[0]!.usage });
  const asked = logged.steps.flatMap((step) =>
    step.kind === 'reason' && typeof step.prompt.messages !== 'number'
      ? [step.prompt.messages.map(({ role }) => role).join(' ')]
      : [],
  );
  expect(asked).toEqual(['user assistant user', 'user assistant user assistant tool']);
});

test('the timeline shows each run once: live where its events are known, and from the log where not', async () => {
  const { turns, runs } = await conversation(replies);
  const live = new EventRuns();
  live.add(runs[1]!);
  const shown = shownRuns(live.runs, turns);
  expect(shown.map(({ run }) => run.origin)).toEqual(['log', 'live']);
  expect(shown.map(({ turn }) => turn)).toEqual(turns);
  // A run that the log showed first keeps its place on the page.
  const first = new EventRuns();
  first.add(runs[1]!.slice(0, 2));
  const keys = [shown, shownRuns([], turns), shownRuns(first.runs, turns)].map((list) =>
    list.map(({ key }) => key),
  );
  expect(keys[1]).toEqual(keys[0]);
  expect(keys[2]).toEqual(keys[0]);
});

test('removed messages are not in the turns, and replaced ones have their new content', () => {
  const [one, two] = ['One.', 'Two.'].map((text, id) => assistantMessage(text, { id: String(id) }));
  const other = assistantMessage('Other.', { id: '1' });
  const messages = messagesInLog([
    { kind: 'message', message: one! },
    { kind: 'message', message: two! },
    { kind: 'truncate', ids: ['0'] },
    { kind: 'replace', message: other },
    { kind: 'replace', message: one! },
  ]);
  expect(messages.map(textOf)).toEqual(['Other.']);
});

test('the end of a run without a message belongs to the last message that a truncate has left', () => {
  const answer = assistantMessage('One.');
  const turns = turnsInLog([
    { kind: 'run-begin', runId: '1' },
    { kind: 'message', message: userMessage('One?') },
    { kind: 'message', message: answer },
    { kind: 'run-end', runId: '1', reason: 'stop' },
    { kind: 'truncate', ids: [answer.id] },
    { kind: 'run-begin', runId: '2' },
    { kind: 'run-end', runId: '2', reason: 'error' },
  ]);
  expect(turns.map(({ isOpen, reason }) => [isOpen, reason])).toEqual([[false, 'error']]);
});

test('the gauge has the tokens that the provider counted, or else an estimate', async () => {
  const usage = { inputTokens: 321, outputTokens: 4 };
  const counted = await conversation([
    { text: 'First.', usage },
    { text: 'Second.', usage },
  ]);
  expect(contextUse(counted.turns.map(runOfTurn))).toEqual({ tokens: 321, isCounted: true });
  const live = new EventRuns();
  const events = counted.runs[0]!;
  live.add(
    events.slice(
      0,
      events.findIndex(({ type }) => type === 'post-reasoning'),
    ),
  );
  expect(contextUse(live.runs)).toEqual({ tokens: expect.any(Number), isCounted: false });
  expect(contextUse([])).toBeUndefined();
});
