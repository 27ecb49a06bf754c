import { expect, test } from 'vitest';
import {
  type Decision,
  MemoryStore,
  SessionMemory,
  outputText,
  toolResultsOf,
  tool,
  type ToolContext,
  ReActAgent,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const order = { toolCalls: [{ name: 'order', id: 'c' }] };
const details = { question: 'Which size?', sizes: ['S', 'M'] };

/** Creates processes that share one store. The tool of each process asks a question first. */
function newSession() {
  const store = new MemoryStore();
  const seen: Pick<ToolContext, 'decision' | 'waitedFor'>[] = [];
  const asking = {
    ...tool({
      name: 'order',
      description: '',
      input: {},
      execute(_input, { decision, waitedFor, suspend }) {
        seen.push({ decision, waitedFor });
        if (decision?.type !== 'result') return suspend('Which size?', details);
        return `ordered ${outputText(decision.output)}`;
      },
    }),
    takesDecisions: true,
  };
  const newProcess = (calls: readonly ScriptedReply[] = []): ReActAgent =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel([...calls, 'done']),
      tools: [asking],
      memory: new SessionMemory(store, 's'),
    });
  return { seen, newProcess };
}

const answer: Decision = { type: 'result', toolUseId: 'c', output: 'M' };
const pending = {
  toolUseId: 'c',
  name: 'order',
  input: {},
  kind: 'suspended',
  reason: 'Which size?',
  details,
};

async function outputsOf(agent: ReActAgent): Promise<readonly string[]> {
  return (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => outputText(output));
}

test('the details of a suspended tool call are in its pending call, also in a later process', async () => {
  const { newProcess } = newSession();
  expect((await newProcess([order]).call('Go')).pending).toEqual([pending]);
  expect((await newProcess().call()).pending).toEqual([pending]);
});

test('a tool gets what it waited for together with the decision, also in a later process', async () => {
  const { newProcess, seen } = newSession();
  await newProcess([order]).call('Go');
  const later = newProcess();
  expect(await later.call([answer])).toMatchObject({ reason: 'stop' });
  expect(seen).toEqual([
    { decision: undefined, waitedFor: undefined },
    { decision: answer, waitedFor: pending },
  ]);
  expect(await outputsOf(later)).toEqual(['ordered M']);
});

test.each(['the same process', 'a later process'])(
  'a decision that was stored but not carried out goes to the tool: %s',
  async (where) => {
    const { newProcess, seen } = newSession();
    const first = newProcess([order]);
    await first.call('Go');
    const remove = first.addHook({ on: { 'pre-call': ({ stop }) => stop() } });
    expect(await first.call([answer])).toMatchObject({ reason: 'stopped-by-hook' });
    remove();
    const next = where === 'the same process' ? first : newProcess();
    await next.call();
    expect(seen.at(-1)).toEqual({ decision: answer, waitedFor: pending });
    expect(await outputsOf(next)).toEqual(['ordered M']);
  },
);

test('details without a JSON form are an error result that says so', async () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const waits = tool({
    name: 'order',
    description: '',
    input: {},
    execute: (_input, { suspend }) => suspend('Which size?', cycle as never),
  });
  const { agent } = scriptedAgent([order, 'done'], { tools: [waits] });
  await agent.call('Go');
  expect(await outputsOf(agent)).toEqual([
    expect.stringMatching(/^Error: order has no JSON form: .*circular.* Use plain JSON\.$/s),
  ]);
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['Later.', 'Later.'],
])('ctx.suspend(%j) suspends the call with the reason %j', async (given, reason) => {
  const wait = tool({
    name: 'order',
    description: '',
    input: {},
    execute: (_input, ctx) => ctx.suspend(given),
  });
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([order]), tools: [wait] });
  const result = await agent.call('go');
  expect([result.reason, result.pending[0]?.kind]).toEqual(['suspended', 'suspended']);
  expect(result.pending[0]?.reason).toBe(reason);
});
