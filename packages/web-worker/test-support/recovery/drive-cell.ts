import type { Msg } from '@isoloop/core';
import type { UIMessage } from 'ai';
import { expect } from 'vitest';
import type { IndexedDbCell } from '../../../../test/recovery/indexed-db-cells.ts';
import type { RecoveryFailure } from '../../../../test/recovery/recovery-cell.ts';
import { answer, say, textIn } from '../../../../test/recovery/recovery-talk.ts';
import { drain, send, tabActions } from './recovery-actions.ts';
import { RecoveryTab, TabConversation } from './recovery-tab.ts';
import type { RecoveryReport } from './recovery-worker.ts';

/** What a failure ends. */
interface Failing {
  readonly conversation: TabConversation;
  /** Tab whose worker answers. */
  readonly tab: RecoveryTab;
  /** Index of the point at which the worker waits. */
  readonly holdAt: number;
  /** Settles when the page has the outcome of the action. */
  readonly acting: Promise<unknown>;
}

/** Lets the failure happen. Resolves with the tab in which the user goes on. */
type Failure = (failing: Failing) => Promise<RecoveryTab>;

const failures: Readonly<Partial<Record<RecoveryFailure, Failure>>> = {
  async reload({ tab }) {
    await tab.reload();
    return tab;
  },
  'closed tab'({ tab, conversation }) {
    tab.close();
    return RecoveryTab.open(conversation, { isActing: true });
  },
  async 'killed worker'({ tab, acting }) {
    tab.killWorker();
    // The answer may have ended before the worker did.
    await acting.catch((error: unknown) =>
      expect(error).toMatchObject({ code: 'WORKER_TERMINATED' }),
    );
    await tab.restartWorker();
    return tab;
  },
  async 'second tab takes over'({ tab, conversation, holdAt }) {
    const second = conversation.tabs.at(-1)!;
    // A tab that is closed says so to its worker. One that crashes says nothing.
    if (holdAt % 2) tab.killWorker();
    else tab.close();
    // The answer to a question comes after the start of a run that the second tab continues.
    await second.agent.messages();
    return second;
  },
};

/** Returns the number of points in a cell's action without a failure, and checks the action. */
export async function pointsOf({ action }: IndexedDbCell): Promise<number> {
  const conversation = new TabConversation({ action, tool: tabActions[action].tool });
  try {
    const tab = await begin(conversation);
    await act(conversation, tab);
    const { points } = await tab.ask('report');
    await finish(conversation, tab, { mayBeCut: false, mayRepeat: false });
    return points.length;
  } finally {
    conversation.end();
  }
}

/** Lets the failure of a cell happen at one point of its action, and checks the promise. */
export async function driveCell(
  { action, failure, store }: IndexedDbCell,
  holdAt: number,
): Promise<void> {
  const fail = failures[failure];
  if (!fail) throw new Error(`No driver: ${action}, ${failure}, ${store}.`);
  const conversation = new TabConversation({ action, tool: tabActions[action].tool });
  try {
    const tab = await begin(conversation, holdAt);
    const asker = await askerOf(conversation, tab, { failure, holdAt });
    const acting = act(conversation, tab, asker);
    // Of a page that is gone, nobody gets the error.
    acting.catch(() => {});
    const held = reported(tab, ({ isHeld }) => isHeld);
    await Promise.race([held, acting]);
    const next = await fail({ conversation, tab, holdAt, acting });
    if (asker === tab) await resume(next, failure);
    const isWhole = asker !== tab && (await acting);
    await finish(conversation, next, { mayBeCut: true, mayRepeat: !isWhole });
  } finally {
    conversation.end();
  }
}

/**
 * Returns the tab in which the user acts. If a second tab takes over, the user may act in either
 * tab, and the worker of the first one answers.
 */
async function askerOf(
  conversation: TabConversation,
  tab: RecoveryTab,
  { failure, holdAt }: { readonly failure: RecoveryFailure; readonly holdAt: number },
): Promise<RecoveryTab> {
  if (failure !== 'second tab takes over') return tab;
  const second = await RecoveryTab.open(conversation, { isActing: true });
  await second.agent.messages();
  return holdAt % 4 < 2 ? tab : second;
}

/** Opens the stream of the continued run, as a page does, and reads it. */
async function resume(tab: RecoveryTab, failure: RecoveryFailure): Promise<void> {
  const { points } = await tab.ask('report');
  const stream = await tab.agent.chatTransport().reconnectToStream();
  if (failure === 'second tab takes over' && stream) expect(points).not.toEqual([]);
  if (stream) await drain(stream);
}

/** Opens a tab, and lets the user do what comes before the action. */
async function begin(conversation: TabConversation, holdAt?: number): Promise<RecoveryTab> {
  const { before } = tabActions[conversation.options.action];
  const tab = await RecoveryTab.open(conversation, { isActing: false, holdAt });
  await send(say('A'))(tab.agent);
  await before?.(tab.agent);
  await tab.ask('act');
  return tab;
}

/**
 * Does the action in the tab `asker`, and resolves when its answer has ended. The worker of `tab`
 * answers. Resolves with whether the user has done the whole action.
 */
async function act(
  conversation: TabConversation,
  tab: RecoveryTab,
  asker: RecoveryTab = tab,
): Promise<boolean> {
  const { next, during } = tabActions[conversation.options.action];
  const answers = [next(await asker.history())!(asker.agent)];
  if (during) {
    try {
      const { streams } = await reported(tab, ({ ran }) => ran.length > 0);
      answers.push(during(asker.agent));
      await reported(tab, (report) => report.streams > streams);
      await tab.ask('joined');
    } catch {
      // The worker has ended, and with it the answers of its pages.
    }
  }
  await Promise.all(answers);
  return answers.length === (during ? 2 : 1);
}

/** Resolves with the report of the tab's worker when it fits. */
async function reported(
  tab: RecoveryTab,
  fits: (report: RecoveryReport) => boolean,
): Promise<RecoveryReport> {
  for (;;) {
    const report = await tab.ask('report');
    if (fits(report)) return report;
  }
}

interface Ending {
  /** Whether a worker may have ended while a tool ran. */
  readonly mayBeCut: boolean;
  /** Whether the page that acted is gone, so that the user may have to repeat the action. */
  readonly mayRepeat: boolean;
}

/** Lets the user do what the conversation has not got yet, and checks the whole conversation. */
async function finish(
  conversation: TabConversation,
  tab: RecoveryTab,
  { mayBeCut, mayRepeat }: Ending,
): Promise<void> {
  const { next, asked } = tabActions[conversation.options.action];
  for (;;) {
    const history = await tab.history();
    const step = next(history);
    if (!step) break;
    checkRepeat(conversation, history, mayRepeat);
    await step(tab.agent);
  }
  await send(say('Next'))(tab.agent);
  const history = await tab.history();
  expect(history.filter(({ role }) => role === 'user').map(textIn)).toEqual([...asked, 'Next']);
  expect(history.slice(-3).map(textIn)).toEqual([answer, 'Next', 'Three.']);
  const ids = history.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  await tab.ask('report');
  checkWitnesses(conversation, await tab.agent.messages());
  checkCalls(conversation, history, mayBeCut);
}

/** Checks that the user repeats only what no model and no tool had got. */
function checkRepeat(
  { reports, options: { action } }: TabConversation,
  history: readonly UIMessage[],
  mayRepeat: boolean,
): void {
  const { asked, asks } = tabActions[action];
  const known = history.map(textIn);
  const missing = asked.filter((text) => !known.includes(text));
  // The page of the open call is gone, so the user decides about the call.
  if (action === 'page tool' && !missing.length) return;
  expect(mayRepeat).toBe(true);
  const answered = reports.flatMap((report) => report.asked);
  for (const text of missing.length ? missing : [asks]) expect(answered).not.toContain(text);
  if (!missing.length) expect(reports.flatMap(({ ran }) => ran)).toEqual([]);
}

/** Checks what the workers saw: valid requests, each tool once, and no lost message. */
function checkWitnesses({ reports, id }: TabConversation, messages: readonly Msg[]): void {
  const witnesses = reports.map(({ witness }) => witness);
  expect(witnesses.flatMap(({ faults }) => faults)).toEqual([]);
  const keys = witnesses.flatMap(({ runs }) => [...runs.keys()]);
  expect(keys).toEqual([...new Set(keys)]);
  const stored = messages.map((message) => message.id);
  const kept = witnesses.flatMap((witness) => [...(witness.kept.get(id) ?? [])]);
  expect(stored).toEqual(expect.arrayContaining(kept));
}

/** Checks that each call ran once, or was interrupted by the end of its worker. */
function checkCalls(
  { reports, toolRuns, options: { action } }: TabConversation,
  history: readonly UIMessage[],
  mayBeCut: boolean,
): void {
  const { input, tool } = tabActions[action];
  const calls = history
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'dynamic-tool');
  const states = calls.map(({ state }) => state);
  const ran = reports.flatMap((report) => report.ran);
  const allowed = tool === 'color' ? [] : states.filter((state) => state !== 'output-denied');
  const whole = allowed.map(() => input);
  if (states.includes('output-error')) expect(whole).toEqual(expect.arrayContaining(ran));
  else expect(ran).toEqual(whole);
  const ends = mayBeCut ? /^output-(available|denied|error)$/ : /^output-(available|denied)$/;
  expect(calls.length).toBeGreaterThan(0);
  for (const state of states) expect(state).toMatch(ends);
  // A page's tool runs again only after the user has allowed it.
  if (tool === 'color') expect([1, mayBeCut ? 2 : 1]).toContain(toolRuns);
}
