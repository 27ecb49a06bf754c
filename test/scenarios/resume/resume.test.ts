import { closeOpenCalls } from '@isoloop/core/approval';
import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  type AgentEvent,
  InMemoryMemory,
  toolMessage,
  userMessage,
  toolResultsOf,
  type Msg,
  tool,
  type ReplayPolicy,
  type AgentOptions,
  type Decision,
  ReActAgent,
} from '@isoloop/core';
import type { Hook } from '@isoloop/core/event';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const input = z.object({ n: z.number() });

/** Creates tools of every kind. `ran` lists the tool runs. */
function kit(replay: ReplayPolicy = 'never') {
  const ran: string[] = [];
  const run = (name: string, n: number): string => {
    ran.push(`${name} ${n}`);
    return `${name}: ${n}`;
  };
  const tools = [
    tool({ name: 'plain', description: '', input, replay, execute: ({ n }) => run('plain', n) }),
    tool({
      name: 'guarded',
      description: '',
      input,
      needsApproval: true,
      execute: ({ n }) => run('guarded', n),
    }),
    tool({
      name: 'large',
      description: '',
      input,
      needsApproval: ({ n }) => n > 9,
      execute: ({ n }) => run('large', n),
    }),
    tool({ name: 'elsewhere', description: '', input }),
    tool({
      name: 'patient',
      description: '',
      input,
      execute: ({ n }, { suspend }) =>
        ran.includes(`patient ${n}`) ? run('patient', n) : (run('patient', n), suspend('not yet')),
    }),
  ];
  return { ran, tools };
}

function setUp(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> & { readonly replay?: ReplayPolicy } = {},
) {
  const { replay, ...agentOptions } = options;
  const model = new ScriptedModel(replies);
  const { ran, tools } = kit(replay);
  const events: AgentEvent[] = [];
  const witness: Hook = { on: { '*': (event) => void events.push(event) } };
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    ...agentOptions,
    use: [witness, ...(agentOptions.use ?? [])],
  });
  return { agent, model, ran, events };
}

/** Returns a reply that calls these tools with the ids `call_1`, `call_2` and so on. */
const calls = (...names: string[]): ScriptedReply => ({
  toolCalls: names.map((name, index) => ({
    name,
    id: `call_${index + 1}`,
    input: { n: index + 1 },
  })),
});

const outputs = (messages: readonly Msg[]) =>
  messages.flatMap(toolResultsOf).map(({ toolUseId, output }) => `${toolUseId} ${String(output)}`);

async function expectWhole(agent: ReActAgent, model: ScriptedModel): Promise<void> {
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(model.requests.flatMap(({ messages }) => requestFaults(messages))).toEqual([]);
}

test('the agent runs the tool calls that may run, and suspends with the other tool calls', async () => {
  const { agent, ran, events } = setUp([
    calls('plain', 'guarded', 'elsewhere', 'patient', 'large'),
  ]);
  const result = await agent.call('go');
  expect(result.reason).toBe('suspended');
  expect(result.pending).toEqual([
    { toolUseId: 'call_2', name: 'guarded', input: { n: 2 }, kind: 'approval' },
    { toolUseId: 'call_3', name: 'elsewhere', input: { n: 3 }, kind: 'external' },
    { toolUseId: 'call_4', name: 'patient', input: { n: 4 }, kind: 'suspended', reason: 'not yet' },
  ]);
  expect(ran).toEqual(['plain 1', 'patient 4', 'large 5']);
  expect(events.find(({ type }) => type === 'suspended')).toMatchObject({
    pending: result.pending,
  });
});

test('call() without input suspends again with the undecided tool calls, and no hook and no tool runs twice', async () => {
  const { agent, model, ran, events } = setUp([calls('plain', 'guarded', 'elsewhere', 'patient')]);
  const resumed: (string | undefined)[] = [];
  agent.addHook({ on: { 'pre-call': (_event, run) => void resumed.push(run.resumes) } });
  const first = await agent.call('go');
  const { length } = events;
  const again = await agent.call();
  expect(again).toMatchObject({ reason: 'suspended', pending: first.pending });
  expect(resumed).toEqual([undefined, events[0]!.runId]);
  expect(ran).toEqual(['plain 1', 'patient 4']);
  expect(events.slice(length).filter(({ type }) => /acting/.test(type))).toEqual([]);
  expect(events[length]).toMatchObject({ type: 'run-start', resumes: events[0]!.runId });
  expect(model.requests).toHaveLength(1);
});

test('call() accepts every kind of decision at once, and the model gets the results in request order', async () => {
  const { agent, model, ran, events } = setUp([
    calls('guarded', 'guarded', 'guarded', 'elsewhere', 'patient'),
    'done',
  ]);
  await agent.call('go');
  const decisions: Decision[] = [
    { toolUseId: 'call_5', type: 'approve' },
    { toolUseId: 'call_4', type: 'result', output: 'brought' },
    { toolUseId: 'call_3', type: 'reject', reason: 'too much' },
    { toolUseId: 'call_2', type: 'edit', input: { n: 7 } },
    { toolUseId: 'call_1', type: 'approve' },
  ];
  const result = await agent.call(decisions);
  expect(result).toMatchObject({ reason: 'stop', text: 'done', pending: [] });
  expect(ran).toEqual(['patient 5', 'guarded 1', 'guarded 7', 'patient 5']);
  expect(outputs(model.requests[1]!.messages)).toEqual([
    'call_1 guarded: 1',
    'call_2 guarded: 7',
    'call_3 Tool call rejected: too much',
    'call_4 brought',
    'call_5 patient: 5',
  ]);
  const ended = events.flatMap((event) => (event.type === 'post-acting' ? event.toolUse.id : []));
  expect(ended.toSorted()).toEqual(['call_1', 'call_2', 'call_3', 'call_4', 'call_5']);
  await expectWhole(agent, model);
});

test('call() applies a subset of the decisions and suspends again with the other tool calls', async () => {
  const { agent, model, ran } = setUp([calls('guarded', 'elsewhere'), 'done']);
  await agent.call('go');
  const second = await agent.call([{ toolUseId: 'call_1', type: 'approve' }]);
  expect(second).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'call_2', kind: 'external' }],
  });
  expect(ran).toEqual(['guarded 1']);
  expect(
    (await agent.call([{ toolUseId: 'call_2', type: 'result', output: 'x', state: 'error' }])).text,
  ).toBe('done');
  expect(model.requests[1]!.messages.flatMap(toolResultsOf).at(-1)).toMatchObject({
    output: 'x',
    state: 'error',
  });
  await expectWhole(agent, model);
});

test('call() accepts results as tool messages and names the run that they resume', async () => {
  const { agent, model, events } = setUp([calls('elsewhere', 'elsewhere'), 'done']);
  await agent.call('go');
  const { runId } = events[0]!;
  const results = ['call_1', 'call_2'].map((toolUseId) =>
    toolMessage({
      type: 'tool_result',
      toolUseId,
      name: 'elsewhere',
      output: `of ${toolUseId}`,
      state: 'success',
    }),
  );
  expect((await agent.call(results)).text).toBe('done');
  expect(outputs(model.requests[1]!.messages)).toEqual(['call_1 of call_1', 'call_2 of call_2']);
  expect(events.findLast(({ type }) => type === 'run-start')).toMatchObject({ resumes: runId });
  await expectWhole(agent, model);
});

test('the input of an edit is validated again', async () => {
  const { agent, ran } = setUp([calls('guarded'), 'done']);
  await agent.call('go');
  const edited = agent.call([{ toolUseId: 'call_1', type: 'edit', input: { n: 'many' } }]);
  const message = expect.stringContaining('n:');
  await expect(edited).rejects.toMatchObject({ code: 'INVALID_DECISION', message });
  expect(ran).toEqual([]);
});

test('the `needsApproval` predicate gets the arguments that a hook changed', async () => {
  const raise: Hook = {
    on: {
      'pre-acting': (event) => ({ ...event, toolUse: { ...event.toolUse, input: { n: 10 } } }),
    },
  };
  const { agent, ran } = setUp([calls('large'), 'done'], { use: [raise] });
  const { pending } = await agent.call('go');
  expect(pending).toEqual([
    { toolUseId: 'call_1', name: 'large', input: { n: 10 }, kind: 'approval' },
  ]);
  await agent.call([{ toolUseId: 'call_1', type: 'approve' }]);
  expect(ran).toEqual(['large 10']);
});

test.for([
  ['an unknown id', [{ toolUseId: 'call_9', type: 'approve' }]],
  [
    'two decisions about one call',
    [
      { toolUseId: 'call_1', type: 'approve' },
      { toolUseId: 'call_1', type: 'reject' },
    ],
  ],
  [
    'decisions together with other input',
    [{ toolUseId: 'call_1', type: 'approve' }, userMessage('and this')],
  ],
  [
    'a tool message with text',
    [
      {
        ...toolMessage({
          type: 'tool_result',
          toolUseId: 'call_1',
          name: 'guarded',
          output: '',
          state: 'success',
        }),
        content: [
          {
            type: 'tool_result',
            toolUseId: 'call_1',
            name: 'guarded',
            output: '',
            state: 'success',
          },
          { type: 'text', text: 'and this' },
        ],
      },
    ],
  ],
] as const)('call() rejects %s and changes nothing', async ([, given]) => {
  const { agent, ran } = setUp([calls('guarded'), 'done']);
  await agent.call('go');
  const before = await agent.messages();
  await expect(agent.call(given as never)).rejects.toMatchObject({ code: 'INVALID_DECISION' });
  expect(await agent.messages()).toEqual(before);
  expect(ran).toEqual([]);
  expect((await agent.call([{ toolUseId: 'call_1', type: 'approve' }])).text).toBe('done');
});

test('call() rejects a decision if no tool call is open', async () => {
  const { agent } = setUp(['hello']);
  await agent.call('hi');
  await expect(agent.call([{ toolUseId: 'call_1', type: 'approve' }])).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
});

test('call() rejects other input and names the open tool calls, unless closeOpenCalls() closes them', async () => {
  const strict = setUp([calls('guarded', 'elsewhere'), 'done']);
  await strict.agent.call('go');
  const before = await strict.agent.messages();
  await expect(strict.agent.call('next')).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    details: { ids: ['call_1', 'call_2'] },
  });
  expect(await strict.agent.messages()).toEqual(before);

  const lenient = setUp([calls('guarded', 'elsewhere'), 'done'], { use: [closeOpenCalls()] });
  await lenient.agent.call('go');
  expect((await lenient.agent.call('next')).text).toBe('done');
  expect(lenient.ran).toEqual([]);
  expect(lenient.model.requests[1]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { state: 'interrupted', output: expect.stringContaining('It did not run.') as string },
    // An external system may have started the call.
    { state: 'interrupted', output: expect.stringContaining('It may have had effects.') as string },
  ]);
  await expectWhole(lenient.agent, lenient.model);
});

test('among the tool calls that an abort closes, only started ones may have had effects', async () => {
  const controller = new AbortController();
  const hang = tool({
    name: 'hang',
    description: '',
    input,
    execute: () => (controller.abort(), new Promise(() => {})),
  });
  const { agent } = scriptedAgent([calls('hang', 'hang')], {
    tools: [hang],
    limits: { parallelTools: 1 },
  });
  await agent.call('go', { signal: controller.signal });
  expect(outputs(await agent.messages())).toEqual([
    'call_1 Interrupted before it finished; its effect is unknown.',
    'call_2 Interrupted before it ran.',
  ]);
});

test.for([
  ['safe', ['plain 1', 'plain 1'], 'stop'],
  ['never', ['plain 1'], 'stop'],
  ['ask', ['plain 1'], 'suspended'],
] as const)(
  'a tool call that started and lost its result follows its replay policy: %s',
  async ([replay, expected, reason]) => {
    class Full extends InMemoryMemory {
      full = true;
      override async append(messages: readonly Msg[]): Promise<void> {
        if (this.full && messages.some(({ role }) => role === 'tool')) throw new Error('full');
        await super.append(messages);
      }
    }
    const memory = new Full();
    const { agent, model, ran } = setUp([calls('plain', 'guarded'), 'done'], { replay, memory });
    await expect(agent.call('go')).rejects.toMatchObject({ message: 'full' });
    memory.full = false;
    await agent.call([{ toolUseId: 'call_2', type: 'reject' }]);
    expect(ran).toEqual(expected);
    if (reason === 'suspended') {
      expect((await agent.call()).pending).toMatchObject([{ toolUseId: 'call_1', kind: 'replay' }]);
      await agent.call([{ toolUseId: 'call_1', type: 'approve' }]);
      expect(ran).toEqual(['plain 1', 'plain 1']);
    }
    expect(model.requests).toHaveLength(2);
    await expectWhole(agent, model);
  },
);

test('a tool call that stop() left open has not started, so it runs with any replay policy', async () => {
  const stop: Hook = {
    on: {
      'post-reasoning': (event) =>
        void (event.iteration === 1 && event.message.content.length > 1 && event.stop()),
    },
  };
  const { agent, model, ran } = setUp([calls('plain', 'guarded'), 'done'], { use: [stop] });
  expect((await agent.call('go')).reason).toBe('stopped-by-hook');
  expect(await agent.call()).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'call_2', kind: 'approval' }],
  });
  expect(ran).toEqual(['plain 1']);
  await agent.call([{ toolUseId: 'call_2', type: 'approve' }]);
  expect(ran).toEqual(['plain 1', 'guarded 2']);
  await expectWhole(agent, model);
});

test('another agent without the call states keeps pending tool calls and treats the others as started', async () => {
  const memory = new InMemoryMemory();
  const stop: Hook = { on: { 'post-reasoning': (event) => event.stop() } };
  await setUp([calls('plain', 'guarded', 'elsewhere')], { memory, use: [stop] }).agent.call('go');
  const { agent, model, ran } = setUp(['done'], { memory });
  const result = await agent.call();
  expect(result.pending.map(({ toolUseId, kind }) => `${toolUseId} ${kind}`)).toEqual([
    'call_2 approval',
    'call_3 external',
  ]);
  expect(ran).toEqual([]);
  await agent.call([
    { toolUseId: 'call_2', type: 'approve' },
    { toolUseId: 'call_3', type: 'result', output: 'here' },
  ]);
  expect(ran).toEqual(['guarded 2']);
  expect(model.requests[0]!.messages.flatMap(toolResultsOf).map(({ state }) => state)).toEqual([
    'interrupted',
    'success',
    'success',
  ]);
  await expectWhole(agent, model);
});

test('the idempotency key of a tool call is the same when the tool call runs again', async () => {
  const keys: string[] = [];
  const flaky = tool({
    name: 'flaky',
    description: '',
    input,
    execute(_input, { idempotencyKey, suspend }) {
      keys.push(idempotencyKey);
      return keys.length < 2 ? suspend('again') : 'ok';
    },
  });
  const { agent } = scriptedAgent([calls('flaky'), 'done'], { tools: [flaky] });
  await agent.call('go');
  await agent.call([{ toolUseId: 'call_1', type: 'approve' }]);
  expect(keys).toHaveLength(2);
  expect(keys[0]).toBe(keys[1]);
});
