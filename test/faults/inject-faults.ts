import {
  type Decision,
  type PendingCall,
  type AgentResult,
  type ReActAgent,
  AgentError,
  type Awaitable,
  type KeyValueStore,
  SessionMemory,
  userMessage,
  toolUsesOf,
  type Msg,
} from '@isoloop/core';
import { openToolUses } from '@isoloop/core/message';
import { historyFaults } from '../support/history-faults.ts';
import { makeWitness, MortalProcess, type Life, type Witness } from './mortal-process.ts';

/** Conversation for `injectFaults`, which lets its process die at every possible point. */
export interface FaultScenario {
  readonly name: string;
  /** Messages of the user, in order. Each is the input of one agent call. */
  readonly turns: readonly string[];
  /** Creates the agent in a new process, with the memory, models and tools of that process. */
  open(process: MortalProcess): Awaitable<ReActAgent>;
  /** Decides about a pending tool call. Default: approves the tool call. */
  readonly decide?: (pending: PendingCall) => Decision;
  /**
   * Returns whether the conversation's `lines` after a death are acceptable. `expected`: the lines
   * without a death. Default: `isSameButInterrupted`.
   */
  readonly isFine?: (lines: readonly string[], expected: readonly string[]) => boolean;
}

/** Environment that runs the processes of one conversation on one store. */
export interface FaultHost {
  /**
   * Runs one process until its end or its death. The report has the same witness, or a copy with
   * later observations.
   */
  live(witness: Witness, life: Life): Promise<LifeReport>;
  /** Reads the stored messages of a session. Called after the last process. */
  read(sessionId: string): Promise<readonly Msg[]>;
}

/** What happened in one process. */
export interface LifeReport {
  readonly witness: Witness;
  /** Names of the points that the process reached. */
  readonly points: readonly string[];
  /** Messages of the conversation. Missing if the process died. */
  readonly messages?: readonly Msg[];
}

/** Where the processes of `injectFaults()` run, and at which points they die. */
export interface FaultOptions {
  /**
   * Creates a host with an empty store, for each try. `localHost` creates a host in this process.
   */
  readonly makeHost: () => Awaitable<FaultHost>;
  /**
   * Returns the indexes of the points at which the first process dies. `count`: number of points
   * without a death. Default: all points.
   */
  readonly points?: (count: number) => readonly number[];
  /**
   * Returns the indexes of the points at which the second process dies. `first`: the point at which
   * the first process died. Default: the second process does not die.
   */
  readonly again?: (first: number) => readonly number[];
}

/** What `injectFaults()` found. */
export interface FaultReport {
  readonly scenario: string;
  /** Number of points in the conversation without a death. */
  readonly points: number;
  /** Number of tries. Each try has one or two deaths. */
  readonly kills: number;
  /** Descriptions of the faults. Each names the points at which the processes of its try died. */
  readonly faults: readonly string[];
}

/**
 * Tests that a conversation survives the death of its process at each point. Runs the scenario once
 * without a death to count its points. Then runs it again for each point, with a process that dies
 * there. A new process continues the conversation from the store. The report lists a fault if one
 * of these rules is broken:
 *
 * - The history is valid and matches the history without a death.
 * - No acknowledged message is lost.
 * - No tool runs again after its result was acknowledged.
 * - A tool that has started runs twice only if its `replay` is `safe`.
 * - Each model request is valid.
 */
export async function injectFaults(
  scenario: FaultScenario,
  options: FaultOptions,
): Promise<FaultReport> {
  const {
    makeHost,
    points = (count) => Array.from({ length: count }, (_, index) => index),
    again,
  } = options;
  const uncut = await (await makeHost()).live(makeWitness(), { generation: 0 });
  const expected = toLines(uncut.messages ?? []);
  const faults = uncut.witness.faults.map((fault) => `uncut: ${fault}`);
  let kills = 0;
  for (const first of points(uncut.points.length)) {
    for (const deaths of [[first], ...(again?.(first) ?? []).map((second) => [first, second])]) {
      kills += 1;
      const where = deaths
        .map((at, index) => (index ? String(at) : `${at} (${uncut.points[at]})`))
        .join(', then ');
      const found = await tryOnce(scenario, await makeHost(), deaths, expected);
      faults.push(...found.map((fault) => `killed at ${where}: ${fault}`));
    }
  }
  return { scenario: scenario.name, points: uncut.points.length, kills, faults };
}

/** Returns a function for `FaultOptions.points` that selects up to `most` evenly spread points. */
export function spreadPoints(most: number): (count: number) => readonly number[] {
  return (count) =>
    Array.from({ length: Math.min(most, count) }, (_, index) =>
      Math.floor(((index + 0.5) * count) / Math.min(most, count)),
    );
}

/** Creates a host that simulates each process by a `MortalProcess` object. */
export function localHost(scenario: FaultScenario, store: KeyValueStore): FaultHost {
  return {
    live: (witness, life) => liveAndDie(scenario, store, witness, life),
    read: (sessionId) => new SessionMemory(store, sessionId).read(),
  };
}

/**
 * Runs one simulated process of a scenario. The process continues the conversation from the store
 * until its end, or dies.
 */
export async function liveAndDie(
  scenario: FaultScenario,
  store: KeyValueStore,
  witness: Witness,
  life: Life,
): Promise<LifeReport> {
  const process = new MortalProcess(store, witness, life);
  const messages = await Promise.race([converse(scenario, process), process.death]);
  process.bury();
  return { witness, points: process.points, ...(messages !== 'dead' && { messages }) };
}

/**
 * Converts messages to lines without ids and times, so that the lines are the same in every try.
 */
function toLines(messages: readonly Msg[]): readonly string[] {
  return messages.flatMap(({ role, content }) =>
    content.map((block) => {
      if (block.type === 'tool_result')
        return `${role}: ${block.name} ${block.state} ${JSON.stringify(block.output)}`;
      return `${role}: ${block.type === 'tool_use' ? `${block.name} ${JSON.stringify(block.input)}` : JSON.stringify(block)}`;
    }),
  );
}

/**
 * Returns whether the lines of two conversations match. Tool results may be in another order. A
 * tool call may have an `interrupted` result.
 */
export function isSameButInterrupted(
  lines: readonly string[],
  expected: readonly string[],
): boolean {
  const shape = (all: readonly string[]): string =>
    all.map((line) => (line.startsWith('tool: ') ? 'tool' : line)).join('\n');
  const results = expected.filter((line) => line.startsWith('tool: '));
  const isKnown = (line: string): boolean =>
    /^tool: \S+ interrupted /.test(line) || results.includes(line);
  return (
    shape(lines) === shape(expected) &&
    lines.every((line) => !line.startsWith('tool: ') || isKnown(line))
  );
}

async function tryOnce(
  scenario: FaultScenario,
  host: FaultHost,
  deaths: readonly number[],
  expected: readonly string[],
): Promise<readonly string[]> {
  let witness = makeWitness();
  for (let generation = 0; ; generation += 1) {
    try {
      const report = await host.live(witness, {
        generation,
        dieAt: deaths[generation] ?? Infinity,
      });
      ({ witness } = report);
      if (report.messages)
        return await check(scenario, host, witness, toLines(report.messages), expected);
    } catch (error) {
      return [
        `process ${generation} failed: ${AgentError.from(error).code} ${AgentError.from(error).message}`,
      ];
    }
  }
}

async function converse(scenario: FaultScenario, process: MortalProcess): Promise<readonly Msg[]> {
  const { turns, decide = ({ toolUseId }) => ({ toolUseId, type: 'approve' }) } = scenario;
  const agent = await scenario.open(process);
  const { signal } = process;
  for (const [turn, text] of turns.entries()) {
    const id = `turn-${turn}`;
    const messages = await agent.messages();
    let result: AgentResult | undefined;
    if (!messages.some((message) => message.id === id))
      result = await agent.call(userMessage(text, { id }), { signal });
    else if (
      messages.findLast(({ id: other }) => other.startsWith('turn-'))?.id === id &&
      !isAnswered(messages)
    ) {
      result = await agent.call(undefined, { signal });
    }
    while (result?.reason === 'suspended')
      result = await agent.call(result.pending.map(decide), { signal });
  }
  return agent.messages();
}

function isAnswered(messages: readonly Msg[]): boolean {
  const last = messages.at(-1);
  return last?.role === 'assistant' && !toolUsesOf(last).length && !openToolUses(messages).length;
}

async function check(
  { isFine = isSameButInterrupted }: FaultScenario,
  host: FaultHost,
  { kept, faults: seen }: Witness,
  lines: readonly string[],
  expected: readonly string[],
): Promise<readonly string[]> {
  const faults = [...seen];
  for (const [sessionId, ids] of kept) {
    const log = await host.read(sessionId);
    const found = new Set(log.map(({ id }) => id));
    faults.push(
      ...historyFaults(log),
      ...[...ids]
        .filter((id) => !found.has(id))
        .map((id) => `the acknowledged message ${id} is lost`),
    );
  }
  if (!isFine(lines, expected))
    faults.push(`it ended with\n${lines.join('\n')}\ninstead of\n${expected.join('\n')}`);
  return faults;
}
