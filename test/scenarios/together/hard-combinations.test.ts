import { expect, test } from 'vitest';
import {
  type AgentEvent,
  type Decision,
  MemoryStore,
  SessionMemory,
  toolResultsOf,
  toolUsesOf,
  ReActAgent,
  type AgentOptions,
  tool,
  type Tool,
  type ToolOptions,
  type Middleware,
} from '@isoloop/core';
import { directAnswers, answerAtLimit } from '@isoloop/core/answer';
import { approvals } from '@isoloop/core/approval';
import { runLimits } from '@isoloop/core/limits';
import { steering } from '@isoloop/core/steering';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { Agent } from '@isoloop/core/agent';

type Settings = Partial<ToolOptions<{ readonly type: 'object' }>>;

const toolNamed = (name: string, options: Settings = {}): Tool =>
  tool({
    name,
    description: '',
    input: { type: 'object' },
    execute: (input) => `${name} ${JSON.stringify(input)}`,
    ...options,
  } as ToolOptions<{ readonly type: 'object' }>);

const look = toolNamed('look');
const pay = toolNamed('pay', { needsApproval: true });
const external = tool({ name: 'external', description: '', input: { type: 'object' } });

const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name, index) => ({ name, id: `${name}${index}` })),
});

/** Returns a function that makes agents of one session, as different processes do. */
function processes(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const store = new MemoryStore();
  const model = new ScriptedModel(replies);
  const tools = [look, pay, external];
  return (use: readonly Middleware[] = []): ReActAgent =>
    new ReActAgent({
      name: 'a',
      model,
      tools,
      memory: new SessionMemory(store, 's'),
      ...options,
      use: [...(options.use ?? []), ...use],
    });
}

async function resultsOf(agent: ReActAgent): Promise<Readonly<Record<string, unknown>>> {
  const messages = await agent.messages();
  const results = messages.flatMap(toolResultsOf);
  return Object.fromEntries(results.map(({ toolUseId, output }) => [toolUseId, output]));
}

const decide = (type: 'approve' | 'reject', toolUseId: string): Decision => ({ type, toolUseId });

/** Middleware that interrupts a run at its first event of this type. */
const interruptAt = (type: AgentEvent['type']): Middleware => ({
  on: { '*': (event, run) => void (event.type === type && run.ending.interrupt()) },
});

test('a reader of a run that advances on its own gets every event, also if an edit overtakes a result', async () => {
  const open = processes([calls('look', 'pay', 'pay'), 'Done.']);
  const decider = approvals({
    decide: ({ toolUseId }) =>
      toolUseId === 'pay1' ? { type: 'edit', input: { euros: 1 } } : { type: 'reject' },
  });
  const stream = open([decider]).stream('Go', { detached: true });
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  const ended = events.flatMap((event) => (event.type === 'post-acting' ? event.toolUse.id : []));
  expect(ended.toSorted()).toEqual(['look0', 'pay1', 'pay2']);
  const numbers = events.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  expect(new Set(numbers).size).toBe(numbers.length);
});

test('the effect of a call that waits for another program stays unknown if a run with its decision is interrupted', async () => {
  for (const decision of [
    { type: 'edit', toolUseId: 'external0', input: { euros: 1 } },
    { type: 'approve', toolUseId: 'external0' },
  ] as const) {
    for (const event of ['pre-call', 'run-start'] as const) {
      const open = processes([calls('external'), 'Done.']);
      expect((await open().call('Go')).pending).toMatchObject([{ kind: 'external' }]);
      const second = open([interruptAt(event)]);
      expect(await second.call([decision])).toMatchObject({ reason: 'interrupted' });
      expect(await resultsOf(second)).toEqual({
        external0: 'Interrupted before it finished; its effect is unknown.',
      });
    }
  }
});

test('an edited call still waits for the program that has to run it', async () => {
  const open = processes([calls('external'), 'Done.']);
  await open().call('Go');
  const edit = { type: 'edit', toolUseId: 'external0', input: { euros: 1 } } as const;
  expect((await open().call([edit])).pending).toMatchObject([
    { kind: 'external', input: { euros: 1 } },
  ]);
});

test('a run that is interrupted before its tools does not carry out an edit', async () => {
  const open = processes([calls('pay'), 'Done.']);
  await open().call('Go');
  const second = open([interruptAt('pre-call')]);
  await second.call([{ type: 'edit', toolUseId: 'pay0', input: { euros: 1 } }]);
  expect(JSON.stringify(await second.messages())).not.toContain('euros');
  expect(await resultsOf(second)).toEqual({ pay0: 'Interrupted before it ran.' });
});

test('the log gets an edit to the arguments that a hook has set', async () => {
  const open = processes([calls('pay'), 'Done.']);
  const input = { euros: 1 };
  const hook: Middleware = {
    on: { 'pre-acting': (event) => ({ ...event, toolUse: { ...event.toolUse, input } }) },
  };
  await open([hook]).call('Go');
  const second = open();
  await second.call([{ type: 'edit', toolUseId: 'pay0', input }]);
  const uses = (await second.messages()).flatMap(toolUsesOf);
  expect(uses).toMatchObject([{ input }]);
  expect(await resultsOf(second)).toEqual({ pay0: 'pay {"euros":1}' });
});

test('`toolsUsed` has the order of the calls, also if a round was deferred', async () => {
  const other = toolNamed('other');
  const open = processes([calls('look', 'pay', 'other'), 'Done.'], {
    tools: [look, pay, other],
    use: [approvals({ deferRound: true })],
  });
  await open().call('Go');
  const { toolsUsed } = await open().call([decide('approve', 'pay1')]);
  expect(toolsUsed).toEqual(['look', 'pay', 'other']);
});

test('if a hook asks for the model after a rejection, the other calls of a deferred round still run', async () => {
  for (const control of ['gotoReasoning', 'jumpTo'] as const) {
    const open = processes([calls('pay', 'pay', 'look'), 'Done.'], {
      use: [approvals({ deferRound: true })],
    });
    await open().call('Go');
    const asking: Middleware = {
      on: {
        'post-acting': ({ result, gotoReasoning, jumpTo }) => {
          if (result.state !== 'denied') return;
          if (control === 'jumpTo') jumpTo('end', 'Jumped.');
          else gotoReasoning([]);
        },
      },
    };
    const second = open([asking]);
    const { text } = await second.call([decide('reject', 'pay0'), decide('approve', 'pay1')]);
    expect(await resultsOf(second)).toMatchObject({ pay1: 'pay {}', look2: 'look {}' });
    expect(text).toBe(control === 'jumpTo' ? 'Jumped.' : 'Done.');
  }
});

const parts = { directAnswers, runLimits, answerAtLimit, steering, approvals };

test.each(Object.entries(parts))("the kernel's agent works with %s alone", async (_name, part) => {
  const model = new ScriptedModel([calls('look'), 'Done.']);
  const agent = new Agent({ name: 'a', model, tools: [look], use: [part()] });
  expect(await agent.call('Go')).toMatchObject({ reason: 'stop', text: 'Done.' });
});

const kinds = ['wrapInput', 'wrapSettle', 'wrapRequest', 'wrapReply', 'wrapRound'] as const;

test.each(kinds)('%s that returns a value of a wrong kind is CONFIGURATION', async (kind) => {
  const wrong: Middleware[] = [
    { [kind]: () => async () => undefined },
    { [kind]: () => async () => 'text' },
    { [kind]: () => async () => ({ to: 'nowhere' }) },
    { [kind]: () => async () => ({}) },
    { [kind]: () => 'no function' },
  ];
  for (const [index, part] of wrong.entries()) {
    const make = async () => {
      const { agent } = scriptedAgent([calls('look'), 'Done.'], { tools: [look], use: [part] });
      await agent.call('Go');
    };
    await expect(make(), `${kind} ${index}`).rejects.toMatchObject({ code: 'CONFIGURATION' });
  }
});
