import { MemoryStore, SessionMemory, type Memory, type Msg, type Tool } from '@isoloop/core';
import { makeWitness, MortalProcess } from '@test/faults/mortal-process.ts';
import { localHost } from '@test/faults/inject-faults.ts';
import { expect, test } from 'vitest';
import { faultScenarios } from '@test/faults/fault-scenarios.ts';
import { messagesInLog, loggedTurns, type LogTurn } from '../steps/log-turns.ts';
import { replayScript } from '../steps/replay-script.ts';
import { replayRun, type ReplayAgent } from './replay-run.ts';

type Scenario = ReturnType<typeof faultScenarios>[number];

/** Plays a scenario without a death, and returns the records of its log. */
async function play(scenario: Scenario) {
  const store = new MemoryStore();
  await localHost(scenario, store).live(makeWitness(), { generation: 0 });
  const written = await new SessionMemory(store, 's').flushes();
  return [...written.values()].flat();
}

/** A process in which each model request and each tool run counts as a live call. */
class WatchedProcess extends MortalProcess {
  readonly live: string[] = [];
  readonly #memory: Memory;

  constructor(memory: Memory) {
    // Its ids begin with the generation, so they differ from those of the log.
    super(new MemoryStore(), makeWitness(), { generation: 9 });
    this.#memory = memory;
  }

  override memory(): SessionMemory {
    return this.#memory as SessionMemory;
  }

  override model(...given: Parameters<MortalProcess['model']>) {
    return super.model((request) => {
      this.live.push('model');
      return (given[0] as (request: object) => never)(request);
    }, given[1]);
  }

  override tool(options: never): Tool {
    const made = super.tool(options);
    const { execute } = made;
    if (!execute) return made;
    return {
      ...made,
      execute: (...given) => {
        this.live.push(made.name);
        return execute(...given);
      },
    };
  }
}

/** Messages without ids and times, and without corrections, which a replay leaves out. */
function linesOf(
  messages: readonly Pick<Msg, 'role' | 'content' | 'metadata'>[],
): readonly string[] {
  return messages
    .filter(({ metadata }) => !metadata?.['correction'])
    .flatMap(({ role, content }) =>
      content.map((block) => {
        if (block.type === 'text') return `${role}: ${block.text}`;
        if (block.type === 'tool_use') return `calls ${block.name} ${JSON.stringify(block.input)}`;
        if (block.type === 'tool_result') return `${block.state} ${JSON.stringify(block.output)}`;
        return block.type;
      }),
    );
}

/** Returns what an agent says in a replay, as lines. Without `agent`, it is a plain agent. */
async function replayed(turn: LogTurn, agent: ReplayAgent | undefined): Promise<readonly string[]> {
  const said: Pick<Msg, 'role' | 'content' | 'metadata'>[] = [];
  const run = replayRun({ script: replayScript(turn), sessionId: 's', agent });
  for await (const batch of run) {
    for (const event of batch) {
      // An agent that runs as a tool does not run: its result is in the log.
      expect(event.agentPath).toHaveLength(1);
      if (event.type === 'pre-call') said.push(...event.input);
      if (event.type === 'post-reasoning') said.push(event.message);
      if (event.type === 'post-acting') said.push({ role: 'tool', content: [event.result] });
      if (event.type === 'run-end' && event.result.reason === 'interrupted')
        said.push(event.result.message);
    }
  }
  return linesOf(said).toSorted();
}

const scenarios = faultScenarios().map((scenario) => [scenario.name, scenario] as const);

test.for(scenarios)(
  'a replay of "%s" says what the log says, and makes no live call',
  async ([, scenario]) => {
    const turns = loggedTurns(messagesInLog(await play(scenario)));
    expect(turns).toHaveLength(scenario.turns.length);
    for (const turn of turns) {
      const expected = linesOf(turn.messages).toSorted();
      expect(await replayed(turn, undefined)).toEqual(expected);
      const processes: WatchedProcess[] = [];
      const ofScenario: ReplayAgent = async ({ memory }) => {
        const process = new WatchedProcess(memory);
        processes.push(process);
        return scenario.open(process);
      };
      expect(await replayed(turn, ofScenario)).toEqual(expected);
      expect(processes.map(({ live }) => live)).toEqual([[]]);
    }
  },
);

test('a replay waits before each reply and each result, and ends when its signal aborts', async () => {
  const [, chain] = scenarios.find(([name]) => name === 'ten-step chain')!;
  const [turn] = loggedTurns(messagesInLog(await play(chain)));
  const stop = new AbortController();
  let waits = 0;
  const run = replayRun({
    script: replayScript(turn!),
    sessionId: 's',
    signal: stop.signal,
    async pause() {
      waits += 1;
      if (waits === 4) stop.abort();
    },
  });
  const types: string[] = [];
  for await (const batch of run) types.push(...batch.map(({ type }) => type));
  expect(types.filter((type) => type === 'post-acting')).toHaveLength(2);
  expect(types.at(-1)).toBe('run-end');
  expect(waits).toBe(4);
});

test('a turn that was cut off ends where its log ends', async () => {
  const [, chain] = scenarios.find(([name]) => name === 'ten-step chain')!;
  const [turn] = loggedTurns(messagesInLog(await play(chain)));
  const cut = { ...turn!, messages: turn!.messages.slice(0, 4) };
  expect(await replayed(cut, undefined)).toEqual(linesOf(cut.messages).toSorted());
});
