import type { JsonObject } from '@isoloop/core';
import type { UIMessage } from 'ai';
import { expect } from 'vitest';
import type { EdgeCell } from '../../../../test/recovery/edge-cells.ts';
import type { RecoveryFailure } from '../../../../test/recovery/recovery-cell.ts';
import { answer, first, say, textIn } from '../../../../test/recovery/recovery-talk.ts';
import { EdgeConversation } from './edge-conversation.ts';
import { chat, userActions } from './recovery-actions.ts';

/** The client's connection that a failure cuts. */
interface Connection {
  readonly conversation: EdgeConversation;
  readonly abort: AbortController;
  readonly cell: EdgeCell;
}

/** What happens at the point where the process waits. Resolves when no turn runs. */
type Failure = (connection: Connection) => Promise<void>;

/** The failures that can happen at the endpoint. */
export const failures: Readonly<Partial<Record<RecoveryFailure, Failure>>> = {
  async reload({ conversation, abort, cell }) {
    abort.abort();
    checkAsked(cell, await conversation.history());
    const rest = await conversation.reconnect();
    conversation.process.release();
    if (rest) expect([answer, '']).toContain(await rest.text);
    await conversation.rest();
  },
  async 'closed tab'({ conversation, abort }) {
    abort.abort();
    conversation.process.release();
    await conversation.rest();
  },
  async 'second tab takes over'({ conversation, abort, cell }) {
    checkAsked(cell, await conversation.history());
    const rest = await conversation.reconnect();
    abort.abort();
    conversation.process.release();
    if (rest) expect([answer, '']).toContain(await rest.text);
    await conversation.rest();
  },
  async 'isolate dies'({ conversation }) {
    await conversation.kill();
    await conversation.ring();
    await conversation.rest();
  },
};

/**
 * Checks that a page sees what the user wrote while a Durable Object answers. A message that waits
 * for its turn is not there yet.
 */
function checkAsked({ store, action }: EdgeCell, history: readonly UIMessage[]): void {
  if (store === 'KV') return;
  const asked = history.filter(({ role }) => role === 'user').map(textIn);
  const isAnswer = (text: string): boolean => /\./.test(text);
  const written = userActions[action].texts.filter((text) => !isAnswer(text));
  expect(asked).toEqual(written.slice(0, action === 'inject' ? asked.length : undefined));
}

/** Returns the number of points in a cell's action without a failure, and checks the action. */
export async function pointsOf(cell: EdgeCell): Promise<number> {
  const conversation = await begin(cell);
  await act(conversation, cell, new AbortController().signal);
  await conversation.rest();
  const { length } = conversation.process.points;
  await finish(conversation, cell, { mayRepeat: false });
  return length;
}

/** Lets the failure of a cell happen at one point of its action, and checks the promise. */
export async function driveCell(cell: EdgeCell, holdAt: number): Promise<void> {
  const fail = failures[cell.failure];
  if (!fail) throw new Error(`No driver: ${cell.action}, ${cell.failure}, ${cell.store}.`);
  const conversation = await begin(cell, holdAt);
  const abort = new AbortController();
  // The failure cuts the connection of this client.
  const acting = act(conversation, cell, abort.signal).catch(() => {});
  await expect.poll(() => conversation.process.isHeld).toBe(true);
  const before = conversation.process;
  await fail({ conversation, abort, cell });
  if (before === conversation.process) await acting;
  const isLost = cell.store === 'KV' && cell.failure === 'isolate dies';
  await finish(conversation, cell, { mayRepeat: isLost });
}

async function begin({ store, action }: EdgeCell, holdAt?: number): Promise<EdgeConversation> {
  const given = userActions[action];
  const conversation = new EdgeConversation(store, given, holdAt);
  await (await conversation.send(chat([], [first]))).text();
  await conversation.rest();
  const { before } = given;
  if (before) {
    await (await conversation.send(before(await conversation.history()))).text();
    await conversation.rest();
  }
  conversation.act();
  return conversation;
}

/** Sends the requests of the action, until the server has all that the user did. */
async function act(
  conversation: EdgeConversation,
  { action }: EdgeCell,
  signal: AbortSignal,
): Promise<void> {
  const { next, during } = userActions[action];
  const { process } = conversation;
  for (;;) {
    const history = await conversation.history();
    const request = next(history);
    if (!request) return;
    const answers = [readAll(conversation.send(request, signal), signal)];
    if (during) {
      await expect.poll(() => process.points.length).toBeGreaterThan(0);
      // The first turn waits, so the session accepts this one at once.
      const accepted = await conversation.send(during(history));
      answers.push(readAll(Promise.resolve(accepted), signal));
    }
    process.start();
    await Promise.all(answers);
    await conversation.rest();
  }
}

async function readAll(given: Promise<Response>, signal: AbortSignal): Promise<void> {
  const response = await given;
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  signal.addEventListener('abort', () => void reader.cancel());
  while (!(await reader.read()).done);
  signal.throwIfAborted();
}

interface Repeat {
  /** Whether the client may have to send its request again. */
  readonly mayRepeat: boolean;
}

/** Does what the client that came back has to do, and checks the whole conversation. */
async function finish(
  conversation: EdgeConversation,
  { action, failure }: EdgeCell,
  { mayRepeat }: Repeat,
): Promise<void> {
  const { next, texts, runs } = userActions[action];
  const isDead = failure === 'isolate dies';
  for (;;) {
    const request = next(await conversation.history());
    if (!request) break;
    // The page's result of a call is a request of its own; any other one would be a repetition.
    if (mayRepeat) conversation.forgetRuns();
    else expect([action, request.path]).toEqual(['page tool', '/api/run']);
    await readAll(conversation.send(request), new AbortController().signal);
    await conversation.rest();
  }
  const history = await conversation.history();
  expect(history.map(textIn)).toEqual(texts);
  const ids = history.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  checkCalls(history, runs, conversation.ran, isDead);
  // The model must be able to read the conversation.
  await readAll(conversation.send(chat(history, [say('Next')])), new AbortController().signal);
  await conversation.rest();
  const after = await conversation.history();
  expect(after.map(textIn)).toEqual([...texts, 'Next', 'Three.']);
  expect(conversation.process.witness.faults).toEqual([]);
}

/** Checks that each call ran once, or was interrupted by the death of its isolate. */
function checkCalls(
  history: readonly UIMessage[],
  expected: readonly JsonObject[],
  ran: readonly JsonObject[],
  isDead: boolean,
): void {
  const calls = history
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'dynamic-tool');
  const states = calls.map(({ state }) => state);
  if (!isDead || !states.includes('output-error')) expect(ran).toEqual(expected);
  else expect(ran.length).toBeLessThanOrEqual(expected.length);
  const ends = isDead ? /^output-(available|denied|error)$/ : /^output-(available|denied)$/;
  expect(calls.length).toBeGreaterThan(0);
  for (const state of states) expect(state).toMatch(ends);
}
