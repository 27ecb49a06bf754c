import {
  AgentError,
  assistantMessage,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  tool,
  toolResultsOf,
  userMessage,
  type Msg,
} from '@isoloop/core';
import type { LogRecord } from '@isoloop/core/log';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, onTestFinished, test } from 'vitest';
import { page, userEvent } from 'vitest/browser';
import { defineInspector, workerSource, type IsoloopInspector } from '@isoloop/inspector';
import type { InspectorSource } from '../source/inspector-source.ts';
import type { ForkDraft } from '../steps/fork-draft.ts';
import type { FixtureOptions } from '../../../web-worker/test-support/agent.ts';
import { startWorker } from '../../../web-worker/test-support/worker-under-test.ts';

const key = 'sk-proj-4f9Qm2Zx81LkTn7Rb3Wd';

const replies: NonNullable<FixtureOptions['replies']> = [
  { toolCalls: [{ name: 'add', id: 'sum', input: { a: 19, b: 23 } }] },
  `It is 42, and the key is ${key}.`,
  'You are welcome.',
];

/** Starts a worker, and puts an inspector of its session on the page. */
function inspect() {
  const under = startWorker();
  const sessionId = crypto.randomUUID();
  const database = `inspector-${sessionId}`;
  const fixture = { replies, database };
  const agent = under.connect(sessionId, fixture);
  defineInspector();
  const inspector = document.createElement('isoloop-inspector') as IsoloopInspector;
  inspector.style.height = '600px';
  inspector.sessionId = sessionId;
  const source = workerSource(under.worker, { options: fixture, database, timeoutMs: 120_000 });
  inspector.source = source;
  document.body.append(inspector);
  onTestFinished(() => {
    inspector.remove();
    indexedDB.deleteDatabase(database);
  });
  return { inspector, source, agent, sessionId, under, fixture, database };
}

test.each([null, 5, '', ' '])('the inspector shows no session %j', (id) => {
  defineInspector();
  const inspector = document.createElement('isoloop-inspector') as IsoloopInspector;
  expect(() => (inspector.sessionId = id as string)).toThrow('must be a string that is not blank');
  inspector.setAttribute('session-id', ' ');
  expect(inspector.sessionId).toBeUndefined();
});

const timeline = page.getByRole('region', { name: 'Timeline' });

/** Opens a row of the timeline. */
async function openRow(name: string): Promise<void> {
  await timeline.getByText(name, { exact: true }).first().click();
}

test('the timeline shows each step of a live run, with tokens, bytes and time', async () => {
  const { agent, inspector } = inspect();
  await agent.call('19 + 23?');
  await expect.element(timeline.getByText('answered')).toBeVisible();
  await expect.element(timeline.getByText('live', { exact: true })).toBeVisible();
  const rows = [...inspector.shadowRoot!.querySelectorAll('.step > summary')];
  expect(rows.map((row) => row.querySelector('.name')?.textContent)).toEqual([
    'Input',
    'Reason 1',
    'add',
    'Reason 2',
  ]);
  const figures = rows.map((row) =>
    [...row.querySelectorAll('.figure')].map(({ textContent }) => textContent),
  );
  expect(figures[1]).toEqual([
    '15 tokens, ',
    expect.stringMatching(/^\d+ B in the log, $/),
    expect.stringMatching(/ms$/),
  ]);
  expect(figures[2]?.[1]).toMatch(/^\d+ B in the log, $/);
});

test('a row opens with the conversation as the model saw it, and the arguments and results of a tool', async () => {
  const { agent } = inspect();
  await agent.call('19 + 23?');
  await expect.element(timeline.getByText('answered')).toBeVisible();
  await openRow('Reason 2');
  await expect.element(timeline.getByText('as it was sent')).toBeVisible();
  await expect.element(timeline.getByText('add: success')).toBeVisible();
  await openRow('add');
  const given = timeline.getByRole('region', { name: 'Arguments' });
  await expect.poll(() => JSON.parse(given.element().textContent ?? '')).toEqual({ a: 19, b: 23 });
  await expect.element(timeline.getByText('{ "adding": [ 19, 23 ] }')).toBeVisible();
});

test('a run of an earlier visit comes from the log, and its prompts are marked as recomputed', async () => {
  const { agent, inspector } = inspect();
  inspector.remove();
  await agent.call('19 + 23?');
  agent.close();
  document.body.append(inspector);
  await expect.element(timeline.getByText('from the log')).toBeVisible();
  await openRow('Reason 2');
  await expect.element(timeline.getByText(/^recomputed from the log/)).toBeVisible();
  await expect.element(timeline.getByText('calls add').first()).toBeVisible();
});

test('nothing that looks like a key is shown, also not in an exported test', async () => {
  const { agent, inspector } = inspect();
  await agent.call(`19 + 23? My key: ${key}`);
  await expect.element(timeline.getByText('answered')).toBeVisible();
  openAll(inspector);
  await expect.element(timeline.getByText('Fork: ask something else')).toBeVisible();
  openAll(inspector);
  await timeline.getByRole('button', { name: 'Export test' }).click();
  await expect.element(timeline.getByText(/new ScriptedModel/)).toBeVisible();
  await page.getByRole('button', { name: 'Records' }).click();
  openAll(inspector);
  await expect
    .element(page.getByRole('region', { name: 'Record', exact: true }).first())
    .toBeVisible();
  expect(inspector.shadowRoot!.innerHTML).toContain('***');
  const fields = [...inspector.shadowRoot!.querySelectorAll('textarea')].map(({ value }) => value);
  expect(inspector.shadowRoot!.innerHTML + fields.join()).not.toContain(key.slice(8));
});

function openAll({ shadowRoot }: IsoloopInspector): void {
  for (const details of shadowRoot!.querySelectorAll('details')) details.open = true;
}

test('the records view shows the log, and the list of conversations switches to another one', async () => {
  const { agent, inspector, under, fixture } = inspect();
  await agent.call('First question');
  const other = under.connect('other', fixture);
  await other.call('Second question');
  await page.getByRole('button', { name: 'Records' }).click();
  const records = page.getByRole('region', { name: 'Records of the log' });
  await expect.element(records.getByText('run began')).toBeVisible();
  await expect.element(records.getByText('tool started')).toBeVisible();
  await expect.element(records.getByText('run ended')).toBeVisible();
  const chosen: unknown[] = [];
  inspector.addEventListener('isoloop-session', (event) =>
    chosen.push((event as CustomEvent<unknown>).detail),
  );
  const list = page.getByRole('combobox', { name: 'Conversation' });
  await agent.call('Third question');
  await userEvent.selectOptions(list, 'Second question');
  expect(chosen).toEqual([{ sessionId: 'other', isFork: false }]);
  await expect.element(records.getByText('Second question')).toBeVisible();
  await expect.element(records.getByText('First question').first()).not.toBeVisible();
});

test('a replay goes on step by step, and calls no model and no tool', async () => {
  const { agent, under, sessionId } = inspect();
  await agent.call('19 + 23?');
  await expect.element(timeline.getByText('answered')).toBeVisible();
  const { requests } = await under.report(sessionId);
  await timeline.getByRole('button', { name: 'Replay' }).click();
  const replay = timeline.getByRole('region', { name: 'Replay' });
  const next = replay.getByRole('button', { name: 'Next step' });
  await next.click();
  await expect.element(replay.getByText('calls add')).toBeVisible();
  await expect.poll(() => replay.getByText(/→ 42$/).elements().length).toBe(0);
  await next.click();
  await expect.element(replay.getByText(/→ 42$/)).toBeVisible();
  await replay.getByRole('button', { name: 'Play all' }).click();
  await expect.element(replay.getByText('The replay ended like the log.')).toBeVisible();
  await expect.element(replay.getByText(/^It is 42/)).toBeVisible();
  expect(await under.report(sessionId)).toMatchObject({ requests });
});

test('a replay with another agent says if it ends differently from the log', async () => {
  const { agent, inspector } = inspect();
  inspector.replayAgent = ({ memory, model, tools }) =>
    new ReActAgent({
      name: 'other',
      memory,
      model,
      tools,
      use: [{ on: { 'post-acting': ({ stop }) => stop() } }],
    });
  await agent.call('19 + 23?');
  await timeline.getByRole('button', { name: 'Replay' }).click();
  const replay = timeline.getByRole('region', { name: 'Replay' });
  await replay.getByRole('button', { name: 'Play all' }).click();
  await expect
    .element(replay.getByText(/^The replay ended differently from the log/))
    .toBeVisible();
  await expect.element(replay.getByText('stopped-by-hook')).toBeVisible();
});

/** Runs an agent on the page, and returns the records of its log, without and with its end. */
async function recordsOfRun(...calls: readonly string[]) {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const toolCalls = calls.map((id) => ({ name: 'look', id, input: {} }));
  const model = new ScriptedModel([{ toolCalls }, 'Found.']);
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'here' });
  await new ReActAgent({ name: 'a', memory, model, tools: [look] }).call('Where?');
  const records = [...(await memory.flushes()).values()].flat() as readonly LogRecord[];
  const answerIndex = records.findLastIndex(({ kind }) => kind === 'message');
  return { unfinished: records.slice(0, answerIndex), records };
}

/** Lets the inspector read a log that the test changes. */
function sourceOf(log: { readonly records: readonly LogRecord[] }): InspectorSource {
  return { sessions: async () => [], records: async () => log.records, async *events() {} };
}

test('a replay compares with the log at the click, also if the page has read it in the middle of the run', async () => {
  const { inspector } = inspect();
  const { unfinished, records } = await recordsOfRun('x');
  const log: { records: readonly LogRecord[] } = { records: unfinished };
  inspector.replayAgent = ({ memory, model, tools }) =>
    new ReActAgent({
      name: 'other',
      memory,
      model,
      tools,
      use: [{ on: { 'post-acting': ({ stop }) => stop() } }],
    });
  inspector.source = sourceOf(log);
  await expect.element(timeline.getByText('calls look')).toBeVisible();
  log.records = records;
  await timeline.getByRole('button', { name: 'Replay' }).click();
  const replay = timeline.getByRole('region', { name: 'Replay' });
  await replay.getByRole('button', { name: 'Play all' }).click();
  const words = 'The replay ended differently from the log (stopped-by-hook, not stop).';
  await expect.element(replay.getByText(words)).toBeVisible();
});

test('a run without an end in the log is neither compared nor exported as if it were complete', async () => {
  const { inspector } = inspect();
  const { unfinished } = await recordsOfRun('x');
  inspector.source = sourceOf({ records: unfinished });
  await timeline.getByRole('button', { name: 'Replay' }).click();
  const replay = timeline.getByRole('region', { name: 'Replay' });
  await replay.getByRole('button', { name: 'Play all' }).click();
  await expect
    .element(replay.getByText(/The log does not contain the end of this run/))
    .toBeVisible();
  await timeline.getByRole('button', { name: 'Export test' }).click();
  await expect.element(timeline.getByText(/nothing to test yet/)).toBeVisible();
});

test('a click waits for the log, and another replay ends the one that it replaces', async () => {
  const { inspector } = inspect();
  const { records } = await recordsOfRun('x');
  const reasons: string[] = [];
  inspector.replayAgent = ({ memory, model, tools }) =>
    new ReActAgent({
      name: 'other',
      memory,
      model,
      tools,
      use: [{ on: { 'run-end': ({ result }) => void reasons.push(result.reason) } }],
    });
  const held: (() => void)[] = [];
  let holds = false;
  inspector.source = {
    ...sourceOf({ records }),
    async records() {
      if (holds) await new Promise<void>((resolve) => held.push(resolve));
      return records;
    },
  };
  const button = timeline.getByRole('button', { name: 'Replay' });
  const next = timeline.getByRole('button', { name: 'Next step' });
  await expect.element(button).toBeEnabled();
  holds = true;
  await button.click();
  await expect.poll(() => held.length).toBe(1);
  await expect.element(button).toBeDisabled();
  // An event makes the inspector draw the run again, at the next frame.
  inspector.addEvents([]);
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  await expect.element(button).toBeDisabled();
  expect(next.elements()).toHaveLength(0);
  held.pop()!();
  await expect.element(next).toBeEnabled();
  await expect.element(button).toBeEnabled();
  await button.click();
  await expect.poll(() => held.length).toBe(1);
  expect(reasons).toEqual([]);
  held.pop()!();
  await expect.poll(() => reasons).toEqual(['aborted']);
  await expect.element(next).toBeEnabled();
  expect(next.elements()).toHaveLength(1);
  await timeline.getByRole('button', { name: 'Close' }).click();
  await expect.poll(() => reasons).toEqual(['aborted', 'aborted']);
});

test('a click whose read of the log fails opens nothing and says why', async () => {
  const { inspector } = inspect();
  const { records } = await recordsOfRun('x');
  let failure: Error | undefined;
  const drafts: ForkDraft[] = [];
  inspector.source = {
    ...sourceOf({ records }),
    async records() {
      if (failure) throw failure;
      return records;
    },
    fork: async (draft) => {
      drafts.push(draft);
      return 'fork';
    },
  };
  const button = timeline.getByRole('button', { name: 'Replay' });
  await expect.element(button).toBeEnabled();
  failure = new Error('The endpoint is down.');
  await button.click();
  const problem = timeline.getByText('The endpoint is down.');
  await expect.element(problem).toBeVisible();
  await expect.element(button).toBeEnabled();
  const replay = timeline.getByRole('region', { name: 'Replay' });
  expect(replay.elements()).toHaveLength(0);
  await openRow('Input');
  await timeline.getByText('Fork: ask something else').click();
  await timeline.getByRole('button', { name: 'Start a new conversation' }).click();
  await expect.poll(() => problem.elements().length).toBe(2);
  expect(drafts).toEqual([]);
  failure = undefined;
  await button.click();
  await expect.poll(() => problem.elements().length).toBe(1);
  await replay.getByRole('button', { name: 'Play all' }).click();
  await expect.element(replay.getByText('The replay ended like the log.')).toBeVisible();
});

test('a slow read of the log does not replace a later one', async () => {
  const { inspector } = inspect();
  const { records } = await recordsOfRun('x');
  let endFirstRead = (): void => {};
  let reads = 0;
  inspector.source = {
    ...sourceOf({ records }),
    records() {
      reads += 1;
      if (reads > 1) return Promise.resolve(records);
      return new Promise((resolve) => (endFirstRead = () => resolve([])));
    },
  };
  await expect.poll(() => reads).toBe(1);
  const event = { runId: 'r', seq: 1, iteration: 0, agentPath: ['a'], at: 1, type: 'run-end' };
  inspector.addEvents([event]);
  const heading = timeline.getByRole('heading', { name: 'Where?' });
  await expect.element(heading).toBeVisible();
  endFirstRead();
  // The inspector draws at the next frame.
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  expect(heading.elements()).toHaveLength(1);
});

test('a fork has the results that the log got after the page has read it', async () => {
  const { inspector } = inspect();
  const { records } = await recordsOfRun('x', 'y');
  const replyIndex = records.findIndex(
    (record) => record.kind === 'message' && record.message.role === 'assistant',
  );
  const log: { records: readonly LogRecord[] } = { records: records.slice(0, replyIndex + 1) };
  const drafts: ForkDraft[] = [];
  inspector.source = {
    ...sourceOf(log),
    fork: async (draft) => {
      drafts.push(draft);
      return 'fork';
    },
  };
  await openRow('look');
  await timeline.getByText('Fork: run with other arguments').click();
  log.records = records;
  await timeline.getByRole('button', { name: 'Start a new conversation' }).click();
  await expect.poll(() => drafts.length).toBe(1);
  const results = drafts[0]!.messages.flatMap(toolResultsOf);
  expect(results.map(({ toolUseId }) => toolUseId)).toEqual(['y']);
});

test('a fork with other arguments runs the tool again in a new conversation', async () => {
  const { agent, inspector, source, sessionId } = inspect();
  await agent.call('19 + 23?');
  await expect.element(timeline.getByText('answered')).toBeVisible();
  await openRow('add');
  await timeline.getByText('Fork: run with other arguments').click();
  await timeline
    .getByRole('textbox', { name: 'Run with other arguments' })
    .fill('{"a": 1, "b": 2}');
  await timeline.getByRole('button', { name: 'Start a new conversation' }).click();
  await expect.poll(() => inspector.sessionId).not.toBe(sessionId);
  const outputs = async (): Promise<readonly unknown[]> =>
    (await source.records(inspector.sessionId!)).flatMap((record) =>
      'message' in record ? toolOutputs(record.message) : [],
    );
  // The model of the new conversation begins its script again.
  await expect.poll(outputs).toEqual(['3', '42']);
});

function toolOutputs({ content }: Msg): readonly unknown[] {
  return content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : []));
}

test('a fork with another input begins a new conversation before the input', async () => {
  const { agent, inspector, source, sessionId } = inspect();
  await agent.call('19 + 23?');
  await expect.element(timeline.getByText('answered')).toBeVisible();
  await openRow('Input');
  await timeline.getByText('Fork: ask something else').click();
  await timeline.getByRole('textbox', { name: 'Ask something else' }).fill('What else?');
  await timeline.getByRole('button', { name: 'Start a new conversation' }).click();
  await expect.poll(() => inspector.sessionId).not.toBe(sessionId);
  await expect.element(timeline.getByRole('heading', { name: 'What else?' })).toBeVisible();
  await expect.element(timeline.getByText('answered')).toBeVisible();
  const [first] = (await source.records(inspector.sessionId!)).flatMap((record) =>
    'message' in record ? [record.message] : [],
  );
  expect(first?.content).toEqual([{ type: 'text', text: 'What else?' }]);
});

test('an inspector that closes does not end the answer of a fork', async () => {
  const under = startWorker();
  const database = `inspector-${crypto.randomUUID()}`;
  onTestFinished(() => void indexedDB.deleteDatabase(database));
  const fixture: FixtureOptions = { replies: [{ toolCalls: [{ name: 'wait' }] }], database };
  const source = workerSource(under.worker, { options: fixture, database, timeoutMs: 120_000 });
  const sessionId = await source.fork!({ messages: [], input: 'go' });
  const fork = under.connect(sessionId, fixture);
  for await (const { type } of fork.watch()) if (type === 'pre-acting') break;
  source.close!();
  // The worker handles the end of the connection before these questions.
  for (let trip = 0; trip < 20; trip += 1) await fork.pending();
  expect((await under.report(sessionId)).aborted).toBe(0);
  expect(await fork.interrupt()).toBe(true);
});

test('conversations with the same title stay apart in the list when their order changes', async () => {
  const { inspector } = inspect();
  const [one, other] = ['one', 'other'].map((sessionId) => ({ sessionId, title: 'Hi' }));
  const lists = [
    [
      { ...one!, updatedAt: 2 },
      { ...other!, updatedAt: 1 },
    ],
    [
      { ...other!, updatedAt: 3 },
      { ...one!, updatedAt: 2 },
    ],
  ];
  const show = (list: (typeof lists)[number]): void => {
    inspector.source = { sessions: async () => list, records: async () => [], async *events() {} };
  };
  inspector.sessionId = 'one';
  const values = () =>
    [...inspector.shadowRoot!.querySelectorAll('option')].map(({ value }) => value);
  show(lists[0]!);
  await expect.poll(values).toEqual(['one', 'other']);
  show(lists[1]!);
  await expect.poll(values).toEqual(['other', 'one']);
});

test('all rows can be reached and opened with the keyboard', async () => {
  const { agent, inspector } = inspect();
  await agent.call('19 + 23?');
  await expect.element(timeline.getByText('answered')).toBeVisible();
  await expect.element(timeline.getByRole('button', { name: 'Replay' })).toBeEnabled();
  const root = inspector.shadowRoot!;
  const names: (string | undefined)[] = [];
  (root.querySelector('.scroll') as HTMLElement).focus();
  for (let count = 0; count < 6; count += 1) {
    await userEvent.keyboard('{Tab}');
    names.push(
      root.activeElement?.querySelector('.name')?.textContent ?? root.activeElement?.textContent,
    );
  }
  expect(names).toEqual(['Replay', 'Export test', 'Input', 'Reason 1', 'add', 'Reason 2']);
  await userEvent.keyboard('{Enter}');
  await expect.element(timeline.getByText('as it was sent')).toBeVisible();
});

test('a source that fails shows its error, and events from elsewhere are shown once', async () => {
  const { inspector } = inspect();
  inspector.source = {
    sessions: async () => [],
    records: async () => {
      throw new AgentError('STORAGE_FAILED', 'The disk is gone.');
    },
    async *events() {},
  };
  await expect.element(page.getByRole('alert')).toHaveTextContent('The disk is gone.');
  const base = { runId: 'r', sessionId: 's', iteration: 0, agentPath: ['a'], at: 1_000 };
  const events = [
    { ...base, type: 'run-start', seq: 1 },
    { ...base, type: 'error', seq: 2, error: { code: 'MODEL_AUTH', message: 'No access.' } },
  ];
  inspector.addEvents(events);
  inspector.addEvents(events);
  await expect.element(timeline.getByText('MODEL_AUTH')).toBeVisible();
  expect(timeline.getByText('MODEL_AUTH').elements()).toHaveLength(1);
});

test('events without prompts say so, and a page may set fields before it defines the element', async () => {
  const late = document.createElement('late-inspector') as IsoloopInspector;
  late.style.height = '400px';
  late.contextWindow = 8_000;
  document.body.append(late);
  onTestFinished(() => late.remove());
  defineInspector('late-inspector');
  const base = { runId: 'r', sessionId: 's', iteration: 1, agentPath: ['a'] };
  const usage = { inputTokens: 2_000, outputTokens: 1 };
  const message = assistantMessage('Hello.', { metadata: { usage } });
  late.addEvents([
    { ...base, type: 'pre-reasoning', seq: 1, at: 1, messages: 3, tools: 2 },
    { ...base, type: 'post-reasoning', seq: 2, at: 2, message },
  ]);
  await expect.element(page.getByText('2,000 of 8,000 tokens')).toBeVisible();
  await openRow('Reason 1');
  await expect.element(timeline.getByText(/does not show prompts to this user/)).toBeVisible();
});

test('a long conversation shows its latest runs, and earlier ones on request', async () => {
  const { inspector } = inspect();
  const messages = Array.from({ length: 40 }, (_, index) => [
    userMessage(`Question ${index}.`),
    assistantMessage(`Answer ${index}.`),
  ]).flat();
  inspector.source = {
    sessions: async () => [],
    records: async () => messages.map((message) => ({ kind: 'message', message })),
    async *events() {},
  };
  await expect.element(timeline.getByRole('heading', { name: 'Question 39.' })).toBeVisible();
  const headings = timeline.getByRole('heading', { level: 2 });
  expect(headings.elements()).toHaveLength(30);
  await timeline.getByRole('button', { name: 'Show earlier runs' }).click();
  await expect.poll(() => headings.elements().length).toBe(40);
  await expect.element(timeline.getByText('Show earlier runs')).not.toBeVisible();
});
