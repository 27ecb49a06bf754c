import { ReActAgent, tool, type ModelDelta } from '@isoloop/core';
import { toTimelineEvent } from '@isoloop/core/stream';
import { traceChanges } from '@isoloop/core/observe';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { EventRuns, type InspectedEvent } from './event-runs.ts';
import type { InspectedStep } from './inspected-run.ts';
import { loggedTurns, runOfTurn } from './log-turns.ts';
import { endWords, stepRow } from './step-row.ts';

/** Runs an agent with a tool that reports progress and a tool that fails. */
async function eventsOf() {
  const agent = new ReActAgent({
    name: 'a',
    systemPrompt: 'Be brief.',
    model: new ScriptedModel([
      { text: 'Both.', toolCalls: [{ name: 'works', input: { n: 1 } }, { name: 'fails' }] },
      { thinking: 'Done?', text: 'Done.' },
    ]),
    tools: [
      tool({
        name: 'works',
        description: '',
        input: {},
        execute: (_input, { emit }) => {
          emit('half');
          return { found: 2 };
        },
      }),
      tool({
        name: 'fails',
        description: '',
        input: {},
        execute: () => {
          throw new Error('No.');
        },
      }),
    ],
    use: traceChanges([
      {
        name: 'cold',
        wrapRequest: (draft, next) => next({ ...draft, options: { temperature: 0 } }),
      },
    ]),
  });
  const events: InspectedEvent[] = [];
  for await (const event of agent.stream('Go.')) events.push(event as never);
  return events;
}

function read(events: readonly InspectedEvent[]) {
  const runs = new EventRuns();
  runs.add(events);
  return runs.runs;
}

const words = (run: ReturnType<typeof read>[number]): readonly string[] =>
  run.steps.map((step) => {
    const { name, about } = stepRow(step, run);
    return `${step.kind} | ${name} | ${about}`;
  });

test('events become steps: a request with its reply, and a tool call with its result', async () => {
  const [run] = read(await eventsOf());
  expect(words(run!)).toEqual([
    'input | Input | Go.',
    'reason | Reason 1 | calls works, fails',
    'act | works | n: 1 → found: 2',
    'act | fails | Error: No.',
    'reason | Reason 2 | Done.',
  ]);
  expect(run).toMatchObject({ origin: 'live', reason: 'stop', usage: { inputTokens: 20 } });
  const [, reason, works] = run!.steps as readonly InspectedStep[];
  expect(reason).toMatchObject({
    prompt: {
      messages: [{ role: 'system' }, { role: 'user' }],
      tools: [{ name: 'works' }, { name: 'fails' }],
      options: { temperature: 0 },
    },
    usage: { inputTokens: 10, outputTokens: 5 },
    changes: [{ middleware: 'cold', at: 'wrapRequest', fields: ['options'] }],
  });
  expect(works).toMatchObject({ progress: ['half'], result: { state: 'success' } });
  expect(run!.steps.every(({ bytes, endedAt }) => bytes > 0 && endedAt !== undefined)).toBe(true);
});

test('a stream that is read again from its start adds nothing, and finished steps stay the same objects', async () => {
  const events = await eventsOf();
  const runs = new EventRuns();
  runs.add(events.slice(0, -2));
  const [before] = runs.runs;
  runs.add(events);
  const [after] = runs.runs;
  expect(after!.steps).toHaveLength(before!.steps.length);
  expect(after!.steps[1]).toBe(before!.steps[1]);
});

test('a reply that streams is shown so far, and a reset discards it', async () => {
  const events = await eventsOf();
  const chunk = events.findLastIndex(({ type }) => type === 'reasoning-chunk');
  const [run] = read(events.slice(0, chunk + 1));
  expect(run!.steps.at(-1)).toMatchObject({ kind: 'reason', text: 'Done.', thinking: 'Done?' });
  const reset = { ...events[chunk]!, type: 'step-reset', seq: 1_000, reason: 'retry' } as const;
  const [again] = read([...events.slice(0, chunk + 1), reset]);
  expect(again!.steps.at(-1)).toMatchObject({ text: '', thinking: '', resets: ['retry'] });
});

test.each([
  ['length', 'length'],
  ['sensitive', 'filtered'],
  ['a_new_reason', 'other'],
])('a reply that ended with %s is shown as incomplete', async (reason, incomplete) => {
  const deltas: readonly ModelDelta[] = [
    { type: 'text', id: 't', delta: 'Half' },
    { type: 'finish', reason },
  ];
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([{ deltas: [deltas] }]) });
  const events: InspectedEvent[] = [];
  for await (const event of agent.stream('Go.')) events.push(event as never);
  const [run] = read(events);
  expect(words(run!).at(-1)).toBe(`reason | Reason 1 | incomplete (${incomplete}) Half`);
  expect(stepRow(run!.steps.at(-1)!, run!).isBad).toBe(true);
  expect(endWords(run!)).toBe(`incomplete (${incomplete})`);
  // An endpoint sends the events without texts.
  const shown = events.flatMap((event) => toTimelineEvent(event as never) ?? []);
  const [remoteRun] = read(shown as never);
  expect(remoteRun!.steps.at(-1)).toMatchObject({ incomplete });
  expect(endWords(remoteRun!)).toBe(`incomplete (${incomplete})`);
  const [turn] = loggedTurns(await agent.messages());
  const loggedRun = runOfTurn(turn!);
  expect(loggedRun.steps.at(-1)).toMatchObject({ incomplete });
  expect(endWords(loggedRun)).toBe(`incomplete (${incomplete})`);
});

test('events of an endpoint without prompts become the same steps, with numbers of messages', async () => {
  const events = await eventsOf();
  const shown = events.flatMap((event) => toTimelineEvent(event as never) ?? []);
  const [run] = read(shown as never);
  expect(run!.steps.map(({ kind }) => kind)).toEqual(['input', 'reason', 'act', 'act', 'reason']);
  expect(run!.steps[1]).toMatchObject({
    prompt: { messages: 2, tools: 2 },
    calls: ['works', 'fails'],
  });
  expect(run!.steps[3]).toMatchObject({ call: { name: 'fails' }, result: { state: 'error' } });
  expect(JSON.stringify(run)).not.toContain('Be brief.');
});
