import { expect, test } from 'vitest';
import {
  AgentError,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  tool,
  type AgentInput,
  type AgentResult,
  type Middleware,
  type Tool,
} from '@isoloop/core';
import { answerAtLimit, directAnswers } from '@isoloop/core/answer';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import { clearToolResults, fitContext } from '@isoloop/core/context';
import { modelRequestLimit, runLimits, toolCallLimit } from '@isoloop/core/limits';
import { promptVariables } from '@isoloop/core/prompt';
import { modelTimeout, retry, toolRetry } from '@isoloop/core/resilience';
import {
  errorHints,
  evictLargeResults,
  keepDataParts,
  reuseResults,
  rewordToolErrors,
  todoList,
} from '@isoloop/core/results';
import { toolSearch } from '@isoloop/core/selection';
import { steering } from '@isoloop/core/steering';
import { checkAnswers, textToolCalls } from '@isoloop/core/text-protocol';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { piiGuard } from '@isoloop/guards';

const sleep = async (): Promise<void> => {};
const busy = new AgentError('MODEL_SERVER', 'busy', { retryable: true });

/** Middleware that must keep nothing of one agent for another one. */
const kinds: readonly [kind: string, make: () => Middleware][] = [
  ['approvals()', () => approvals({ deferRound: true, decide: () => ({ type: 'approve' }) })],
  ['closeOpenCalls()', closeOpenCalls],
  ['steering()', steering],
  ['directAnswers()', directAnswers],
  ['answerAtLimit()', answerAtLimit],
  ['runLimits()', () => runLimits({ toolCalls: 3 })],
  ['toolCallLimit()', () => toolCallLimit({ tool: 'look', run: 3 })],
  ['modelRequestLimit() of a run', () => modelRequestLimit({ run: 2 })],
  ['modelRequestLimit() of a session', () => modelRequestLimit({ session: 3 })],
  ['clearToolResults()', () => clearToolResults({ maxTokens: 1, keep: 1 })],
  ['fitContext()', () => fitContext({ window: 5_000 })],
  ['promptVariables()', () => promptVariables({ variables: { word: 'day' } })],
  ['retry()', () => retry({ sleep })],
  ['toolRetry()', () => toolRetry({ sleep })],
  ['modelTimeout()', () => modelTimeout({ silenceMs: 60_000 })],
  ['errorHints()', errorHints],
  ['keepDataParts()', keepDataParts],
  ['reuseResults()', reuseResults],
  ['rewordToolErrors()', rewordToolErrors],
  ['todoList()', todoList],
  ['evictLargeResults()', () => evictLargeResults({ store: new MemoryStore(), maxTokens: 2 })],
  ['toolSearch()', () => toolSearch({ limit: 1 })],
  ['textToolCalls()', textToolCalls],
  ['checkAnswers()', checkAnswers],
  ['piiGuard()', () => piiGuard({ output: true, toolResults: true })],
];

const replies = (name: string): readonly ScriptedReply[] => [
  { error: busy },
  {
    toolCalls: [
      { name: 'look', id: `${name}_one` },
      { name: 'pay', id: `${name}_two` },
      { name: 'fails', id: `${name}_three` },
    ],
  },
  {
    toolCalls: [
      { name: 'look', id: `${name}_four` },
      { name: 'look', id: `${name}_five`, input: { again: name } },
    ],
  },
  `Done, says ${name}@example.test.`,
  'More.',
  '',
  'Even more.',
];

/** Lets the other agent take steps of its own. */
const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function toolsOf(name: string): readonly Tool[] {
  const own = (toolName: string, needsApproval = false): Tool =>
    tool({
      name: toolName,
      description: 'Helps.',
      input: { type: 'object' },
      needsApproval,
      execute: async (input) => {
        await aTurn();
        if (toolName === 'fails') throw new Error(`no paper for ${name}@example.test`);
        return `${toolName} of ${name} ${JSON.stringify(input)}\n${'A line.\n'.repeat(20)}`;
      },
    });
  return [own('look'), own('pay', true), own('fails')];
}

/** Runs an agent with this middleware. Returns all that its user, its log and its model got. */
async function workOf(name: string, use: readonly Middleware[]) {
  const model = new ScriptedModel(replies(name));
  let ids = 0;
  const agent = new ReActAgent({
    name,
    model,
    tools: toolsOf(name),
    systemPrompt: 'A good ${word}.',
    use,
    memory: new SessionMemory(new MemoryStore(), name),
    generateId: () => `${name}_${(ids += 1)}`,
    now: () => 0,
  });
  const outcomes: unknown[] = [];
  let input: AgentInput = `I am ${name}@example.test`;
  for (let turn = 0; turn < 4; turn += 1) {
    const result: AgentResult = await agent.call(input, { throwOnError: false });
    outcomes.push({ ...result, durationMs: 0 });
    const { pending } = result;
    input = pending.length
      ? pending.map(({ toolUseId }) => ({ type: 'approve', toolUseId }) as const)
      : `Go on, turn ${turn}`;
  }
  return { outcomes, log: await agent.messages(), requests: model.requests };
}

test.each(kinds)(
  'two agents that run at the same time with one %s behave as with one each',
  async (_kind, make) => {
    const both = (first: Middleware, second: Middleware) =>
      Promise.all([workOf('ann', [first]), workOf('bob', [second])]);
    const shared = make();
    expect(await both(shared, shared)).toEqual(await both(make(), make()));
  },
);

test('the comparison finds a middleware that keeps its state for all agents', async () => {
  const counting = (): Middleware => {
    let count = 0;
    return {
      wrapRequest(draft, next, run) {
        count += 1;
        const note = run.createMessage('user', `Request ${count}`);
        return next({ ...draft, messages: [...draft.messages, note] });
      },
    };
  };
  const shared = counting();
  const [together] = await Promise.all([workOf('ann', [shared]), workOf('bob', [shared])]);
  expect(together).not.toEqual(await workOf('ann', [counting()]));
});
