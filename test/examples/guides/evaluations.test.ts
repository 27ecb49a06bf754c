import { expect, test } from 'vitest';
import '../strict-assert.ts';
import {
  InMemoryMemory,
  listSessions,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  toolUsesOf,
  type AgentResult,
  type Msg,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import * as z from 'zod';
// #region eval-cases
interface Case {
  readonly question: string;
  /** What a right answer contains. */
  readonly expected: string;
  /** The tools that the agent should call, in order. */
  readonly calls: readonly string[];
}

const cases: readonly Case[] = [
  { question: 'What is 17 * 23?', expected: '391', calls: ['multiply'] },
  { question: 'Say hello.', expected: 'Hello!', calls: [] },
];
// #endregion
// #region eval-scorers
import { JSONDiff, Levenshtein } from 'autoevals';

/** The names of the tools that the model called, in order, with repeated calls. */
function trajectoryOf(messages: readonly Msg[]): readonly string[] {
  return messages.flatMap((message) => toolUsesOf(message).map(({ name }) => name));
}

/** Numbers from 0 to 1. Their names are the columns of a report. */
type Scores = Readonly<Record<'contains' | 'wording' | 'trajectory' | 'cheap', number>>;

async function scoresOf(
  { text, usage }: AgentResult,
  messages: readonly Msg[],
  { expected, calls }: Case,
): Promise<Scores> {
  const wording = await Levenshtein({ output: text, expected });
  const path = await JSONDiff({ output: [...trajectoryOf(messages)], expected: [...calls] });
  return {
    contains: text.includes(expected) ? 1 : 0,
    wording: wording.score ?? 0,
    trajectory: path.score ?? 0,
    cheap: usage.inputTokens + usage.outputTokens <= 2_000 ? 1 : 0,
  };
}
// #endregion
// #region eval-run
// #endregion
// #region eval-from-runs
import { isQuestion } from '@isoloop/core/message';
// #endregion
// #region eval-judge
import { structured } from '@isoloop/core/output';
// #endregion

const multiply = tool({
  name: 'multiply',
  description: 'Multiplies two numbers',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a * b),
});

test('a data set is scored: the answer, its trajectory and its cost', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'multiply', input: { a: 17, b: 23 } }] },
    'It is 391.',
    { toolCalls: [{ name: 'multiply', input: { a: 1, b: 1 } }] },
    'Hello!',
  ]);

  // #region eval-run
  const rows: (Scores & { readonly question: string })[] = [];
  for (const each of cases) {
    const memory = new InMemoryMemory(); // each case begins a conversation
    const agent = new ReActAgent({ name: 'assistant', model, memory, tools: [multiply] });
    const result = await agent.call(each.question, { throwOnError: false });
    rows.push({ question: each.question, ...(await scoresOf(result, await memory.read(), each)) });
  }
  console.table(rows);
  const mean = (name: 'contains' | 'trajectory'): number =>
    rows.reduce((sum, row) => sum + row[name], 0) / rows.length;
  expect(mean('contains')).toBeGreaterThanOrEqual(0.9);
  // #endregion

  expect(rows.map(({ contains, trajectory }) => [contains, trajectory])).toEqual([
    [1, 1],
    [1, 0],
  ]);
  expect(mean('trajectory')).toBe(0.5);
});

test('stored conversations become cases of a data set', async () => {
  const store = new MemoryStore();
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'multiply', input: { a: 6, b: 7 } }] },
    'It is 42.',
  ]);
  const memory = new SessionMemory(store, 'c1');
  await new ReActAgent({ name: 'assistant', model, tools: [multiply], memory }).call('6 * 7?');

  // #region eval-from-runs
  const found: Case[] = [];
  for (const { sessionId } of await listSessions(store)) {
    const messages = await new SessionMemory(store, sessionId).read();
    const starts = messages.flatMap((message, index) => (isQuestion(message) ? [index] : []));
    for (const [index, start] of starts.entries()) {
      const turn = messages.slice(start, starts[index + 1]);
      found.push({
        question: textOf(turn[0]!),
        expected: textOf(turn.at(-1)!), // a person reads it before it is a rule
        calls: trajectoryOf(turn),
      });
    }
  }
  // #endregion

  expect(found).toEqual([{ question: '6 * 7?', expected: 'It is 42.', calls: ['multiply'] }]);
});

test('a model judges an answer whose words may differ', async () => {
  const judgeModel = new ScriptedModel([
    {
      toolCalls: [{ name: 'generate_response', input: { reason: 'The same writer.', score: 1 } }],
    },
  ]);

  // #region eval-judge
  const Verdict = z.object({ reason: z.string(), score: z.number().min(0).max(1) });
  const judge = new ReActAgent({
    name: 'judge',
    model: judgeModel,
    systemPrompt: 'Score how well an answer says what the reference says.',
  });
  const pair = { answer: 'Johann Wolfgang von Goethe.', reference: 'Goethe' };
  const { output } = await judge.call(JSON.stringify(pair), { output: structured(Verdict) });
  // #endregion

  expect(output).toEqual({ reason: 'The same writer.', score: 1 });
});
