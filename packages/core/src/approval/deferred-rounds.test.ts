import { expect, test } from 'vitest';
import { decideForMessage } from './decide-for-message.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { Decision } from '../event/pending-call.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { toolResultsOf } from '../message/msg.ts';
import { springAiAlibaba } from '@isoloop/presets';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool, type Tool } from '../tool/tool.ts';
import { toolCallLimit } from '../limits/tool-call-limit.ts';
import { approvals, type ApprovalsOptions } from './approvals.ts';
import type { ApprovalDecision } from './ask-approver.ts';
import { closeOpenCalls } from './close-open-calls.ts';

const needsApproval = { pay: true, mail: true } as const;
const asked = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name, index) => ({ name, id: `${name}${index}`, input: { n: index } })),
});
const approve = (toolUseId: string): Decision => ({ toolUseId, type: 'approve' });

function setUp(
  replies: readonly ScriptedReply[],
  given: ApprovalsOptions | 'preset' = {},
  more: Partial<AgentOptions> = {},
) {
  const log: string[] = [];
  const tools = ['read', 'pay', 'mail'].map((name) =>
    tool({
      name,
      description: '',
      input: { type: 'object' },
      execute: (input) => `did ${log.push(`${name} ${(input as { n: number }).n}`)}`,
    }),
  );
  const model = new ScriptedModel(replies);
  const events: AgentEvent[] = [];
  const watch = {
    on: {
      '*': (event: AgentEvent) => void events.push(event),
      'pre-acting': ({ toolUse: { id } }: { toolUse: { id: string } }) =>
        void log.push(`saw ${id}`),
    },
  };
  const part =
    given === 'preset'
      ? [springAiAlibaba(), approvals({ needsApproval })]
      : [approvals({ needsApproval, deferRound: true, ...given })];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    ...more,
    use: [watch, ...part, ...(more.use ?? [])],
  });
  const take = (): readonly string[] => log.splice(0);
  const ran = (): readonly string[] => take().filter((line) => !line.startsWith('saw'));
  return { agent, model, take, ran, events };
}

test.each([['the option', {}] as const, ['the preset', 'preset'] as const])(
  'with `deferRound` from %s, no tool call of the reply runs before the decision',
  async (_, given) => {
    const { agent, model, take, events } = setUp([asked('read', 'pay', 'read'), 'Done.'], given);
    const { reason, pending } = await agent.call('go');
    expect([reason, pending.map(({ toolUseId }) => toolUseId)]).toEqual(['suspended', ['pay1']]);
    expect(take()).toEqual(['saw pay1']);
    expect((await agent.call()).reason).toBe('suspended');
    expect(take()).toEqual([]);
    expect((await agent.call([approve('pay1')])).text).toBe('Done.');
    const lines = take();
    expect(lines.filter((line) => line.startsWith('saw'))).toEqual(['saw read0', 'saw read2']);
    expect(lines.filter((line) => !line.startsWith('saw'))).toEqual(['read 0', 'pay 1', 'read 2']);
    expect(requestFaults(model.requests[1]!.messages)).toEqual([]);
    expect(historyFaults(await agent.messages())).toEqual([]);
    expect(events.filter(({ type }) => type === 'suspended')).toHaveLength(2);
  },
);

test('without `deferRound`, tool calls that need no approval run first', async () => {
  for (const given of [{ deferRound: false }, 'off'] as const) {
    const use =
      given === 'off'
        ? [springAiAlibaba({ deferRound: false }), approvals({ needsApproval })]
        : [approvals({ needsApproval, ...given })];
    const ran: string[] = [];
    const tools = ['read', 'pay', 'mail'].map((name) =>
      tool({ name, description: '', input: { type: 'object' }, execute: () => ran.push(name) }),
    );
    const model = new ScriptedModel([asked('pay', 'read')]);
    await new ReActAgent({ name: 'a', model, tools, use }).call('go');
    expect(ran).toEqual(['read']);
  }
});

test('`deferRound` of approvals() has precedence over the preset', async () => {
  const defers = async (options: Partial<AgentOptions>): Promise<boolean> => {
    const ran: string[] = [];
    const named = (name: string, asks: boolean): Tool =>
      tool({
        name,
        description: '',
        input: { type: 'object' },
        needsApproval: asks,
        execute: () => void ran.push(name),
      });
    const model = new ScriptedModel([asked('read', 'pay')]);
    const tools = [named('read', false), named('pay', true)];
    const agent = new ReActAgent({ name: 'a', model, tools, ...options });
    expect((await agent.call('go')).pending).toHaveLength(1);
    return ran.length === 0;
  };
  expect(await defers({ use: [springAiAlibaba()] })).toBe(true);
  expect(await defers({ use: [springAiAlibaba(), approvals()] })).toBe(true);
  expect(await defers({ use: [springAiAlibaba(), approvals({ deferRound: false })] })).toBe(false);
  expect(await defers({ use: [approvals({ deferRound: true })] })).toBe(true);
});

test('with `deferRound`, tool calls that need no decision run normally', async () => {
  const { agent, ran } = setUp([asked('read', 'read'), 'Done.']);
  expect((await agent.call('go')).text).toBe('Done.');
  expect(ran()).toEqual(['read 0', 'read 1']);
});

test('single decisions are kept until the last decision is made', async () => {
  const { agent, ran } = setUp([asked('pay', 'read', 'mail', 'pay'), 'Done.']);
  await agent.call('go');
  const first = await agent.call([{ toolUseId: 'pay0', type: 'edit', input: { n: 7 } }]);
  expect(first.pending.map(({ toolUseId }) => toolUseId)).toEqual(['mail2', 'pay3']);
  const second = await agent.call([{ toolUseId: 'mail2', type: 'reject', reason: 'no' }]);
  expect(second.pending.map(({ toolUseId }) => toolUseId)).toEqual(['pay3']);
  expect(ran()).toEqual([]);
  expect((await agent.call([approve('pay3')])).text).toBe('Done.');
  expect(ran()).toEqual(['pay 7', 'read 1', 'pay 3']);
  const states = (await agent.messages()).flatMap(toolResultsOf).map(({ state }) => state);
  expect(states).toEqual(['success', 'success', 'denied', 'success']);
});

test('another process continues with the decisions that were stored', async () => {
  const store = new MemoryStore();
  const open = (...replies: readonly ScriptedReply[]) =>
    setUp(replies, {}, { memory: new SessionMemory(store, 's') });
  await open(asked('pay', 'read', 'mail')).agent.call('go');
  const second = open();
  await second.agent.call([approve('pay0')]);
  expect(second.take()).toEqual([]);
  const third = open('Done.');
  expect((await third.agent.call([approve('mail2')])).text).toBe('Done.');
  expect(third.ran()).toEqual(['pay 0', 'read 1', 'mail 2']);
});

test('a result instead of a decision lets the other tool calls run', async () => {
  const { agent, ran } = setUp([asked('read', 'pay'), 'Done.']);
  await agent.call('go');
  await agent.call([{ toolUseId: 'pay1', type: 'result', output: 'by hand' }]);
  expect(ran()).toEqual(['read 0']);
});

test('the `needsApproval` option of a tool also defers the other tool calls', async () => {
  const { agent } = setUp(
    [asked('read', 'pay'), 'Done.'],
    { needsApproval: {} },
    {
      tools: [
        tool({ name: 'read', description: '', input: { type: 'object' }, execute: () => 'read' }),
        tool({
          name: 'pay',
          description: '',
          input: { type: 'object' },
          needsApproval: true,
          execute: () => 'paid',
        }),
      ],
    },
  );
  expect((await agent.call('go')).reason).toBe('suspended');
  expect((await agent.messages()).flatMap(toolResultsOf)).toEqual([]);
  expect((await agent.call([approve('pay1')])).text).toBe('Done.');
});

test('tool calls that cannot run defer no other tool calls, but are deferred with them', async () => {
  const { agent } = setUp([asked('nothing', 'pay'), asked('nothing', 'read'), 'Done.']);
  await agent.call('go');
  expect((await agent.messages()).flatMap(toolResultsOf)).toEqual([]);
  expect((await agent.call([approve('pay1')])).text).toBe('Done.');
});

test.each([1, 2, 5])(
  '`decide` decides about all tool calls before any tool runs, %i at a time',
  async (parallelTools) => {
    const line: string[] = [];
    const decide = async ({ toolUseId }: { toolUseId: string }): Promise<ApprovalDecision> => {
      line.push(`ask ${toolUseId}`);
      await Promise.resolve();
      return toolUseId === 'mail2' ? { type: 'reject' } : { type: 'approve' };
    };
    const { agent, ran, events } = setUp(
      [asked('read', 'pay', 'mail', 'pay'), 'Done.'],
      { decide },
      { limits: { parallelTools } },
    );
    const log = { on: { 'acting-chunk': () => {} } };
    agent.addHook(log);
    expect((await agent.call('go')).text).toBe('Done.');
    expect(line).toEqual(['ask pay1', 'ask mail2', 'ask pay3']);
    expect(ran()).toEqual(['read 0', 'pay 1', 'pay 3']);
    expect(orderFaults(events)).toEqual([]);
  },
);

test('if `decide` leaves one tool call undecided, none runs, and the next call asks again only about that tool call', async () => {
  const seen: string[] = [];
  const decide = ({ toolUseId }: { toolUseId: string }): ApprovalDecision | undefined => {
    seen.push(toolUseId);
    return seen.length === 2 ? undefined : { type: 'approve' };
  };
  const { agent, ran } = setUp([asked('read', 'pay', 'mail'), 'Done.'], { decide });
  const { pending } = await agent.call('go');
  expect(pending.map(({ toolUseId }) => toolUseId)).toEqual(['mail2']);
  expect(ran()).toEqual([]);
  expect((await agent.call()).text).toBe('Done.');
  expect([seen, ran()]).toEqual([
    ['pay1', 'mail2', 'mail2'],
    ['read 0', 'pay 1', 'mail 2'],
  ]);
});

test('an abort while `decide` waits closes all tool calls of the reply', async () => {
  const controller = new AbortController();
  const decide = (): Promise<never> => (controller.abort(), new Promise(() => {}));
  const { agent, ran } = setUp([asked('read', 'pay'), 'Next.'], { decide });
  expect((await agent.call('go', { signal: controller.signal })).reason).toBe('aborted');
  expect(ran()).toEqual([]);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.call('and now?')).text).toBe('Next.');
});

test('a new message instead of the decision closes all tool calls of the reply', async () => {
  const { agent, ran } = setUp([asked('read', 'pay'), 'Fine.'], {}, { use: [closeOpenCalls()] });
  await agent.call('go');
  expect((await agent.call('never mind')).text).toBe('Fine.');
  expect(ran()).toEqual([]);
  const chat = setUp([asked('read', 'pay'), 'Fine.']);
  await chat.agent.call('go');
  const decisions = await decideForMessage(chat.agent, await chat.agent.messages());
  expect((await chat.agent.call('never mind', { decisions })).text).toBe('Fine.');
  expect(chat.ran()).toEqual([]);
  expect(historyFaults(await chat.agent.messages())).toEqual([]);
});

test.each([false, true])(
  'a message with decisions about all pending tool calls needs no decisions about deferred tool calls; stored: %s',
  async (isStored) => {
    const store = new MemoryStore();
    const next = (replies: readonly ScriptedReply[]) =>
      setUp(replies, {}, isStored ? { memory: new SessionMemory(store, 's') } : {});
    const first = next([asked('read', 'pay', 'mail'), 'Paid.']);
    await first.agent.call('go');
    const second = isStored ? next(['Paid.']) : first;
    const some = { decisions: [approve('pay1')] };
    await expect(second.agent.call('And hurry.', some)).rejects.toThrow(/"mail" \(mail2\)/);
    expect((await second.agent.call([approve('mail2')])).pending).toHaveLength(1);
    first.take();
    const third = isStored ? next(['Paid.']) : first;
    expect((await third.agent.call('And hurry.', some)).text).toBe('Paid.');
    expect(third.ran()).toEqual(['read 0', 'pay 1', 'mail 2']);
    expect(third.model.requests.at(-1)!.messages.at(-1)).toMatchObject({ role: 'user' });
    expect(historyFaults(await third.agent.messages())).toEqual([]);
  },
);

test('`deferRound` must be a boolean', () => {
  for (const make of [approvals, springAiAlibaba])
    expect(() => make({ deferRound: 'yes' } as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
    );
});

test('if a hook changes a tool call so that it needs approval, it defers the others too', async () => {
  const toPay: AgentOptions['use'] = [
    {
      on: {
        'pre-acting': (event) =>
          event.toolUse.id === 'read1'
            ? { ...event, toolUse: { ...event.toolUse, name: 'pay' } }
            : event,
      },
    },
  ];
  const free = setUp([asked('read', 'read'), 'Done.'], {}, { use: toPay });
  expect((await free.agent.call('go')).pending).toMatchObject([{ toolUseId: 'read1' }]);
  expect(free.ran()).toEqual([]);
  expect((await free.agent.call([approve('read1')])).text).toBe('Done.');
  expect(free.ran()).toEqual(['read 0', 'pay 1']);

  const deferred = setUp([asked('mail', 'read', 'read'), 'Done.'], {}, { use: toPay });
  await deferred.agent.call('go');
  const { pending } = await deferred.agent.call([approve('mail0')]);
  expect([pending.map(({ toolUseId }) => toolUseId), deferred.ran()]).toEqual([['read1'], []]);
  expect((await deferred.agent.call([approve('read1')])).text).toBe('Done.');
  expect(deferred.ran()).toEqual(['mail 0', 'pay 1', 'read 2']);

  const decide = (): ApprovalDecision => ({ type: 'reject' });
  const decided = setUp([asked('read', 'read'), 'Done.'], { decide }, { use: toPay });
  expect((await decided.agent.call('go')).text).toBe('Done.');
  expect(decided.ran()).toEqual(['read 0']);
});

const resultsOf = async (agent: ReActAgent): Promise<readonly (readonly unknown[])[]> => {
  const results = (await agent.messages()).flatMap(toolResultsOf);
  return results.map(({ toolUseId, state, output }) => [toolUseId, state, output]);
};

test.each([
  ['the option', {}],
  ['`decide`', { decide: (): ApprovalDecision => ({ type: 'approve' }) }],
  ['the preset', 'preset'],
] as const)(
  'with `deferRound` from %s, toolCallLimit() counts all tool calls of a reply at once',
  async (_, given) => {
    const { agent, ran } = setUp([asked('read', 'pay', 'read')], given, {
      use: [toolCallLimit({ session: 2, text: 'Enough.' })],
    });
    expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'Enough.' });
    expect(ran()).toEqual([]);
    expect(await resultsOf(agent)).toEqual(
      ['read0', 'pay1', 'read2'].map((id) => [id, 'interrupted', 'It did not run. Enough.']),
    );
    expect(historyFaults(await agent.messages())).toEqual([]);
  },
);

test('with `deferRound`, toolCallLimit() counts each tool call once', async () => {
  const { agent, ran } = setUp(
    [asked('read', 'pay'), asked('read')],
    {},
    { use: [toolCallLimit({ session: 2 })] },
  );
  await agent.call('go');
  expect((await agent.call([approve('pay1')])).reason).toBe('limit');
  expect(ran()).toEqual(['read 0', 'pay 1']);
});

test.each([false, true])(
  "a limit that ends the run keeps a person's result and rejection; deferRound: %s",
  async (deferRound) => {
    const memory = new SessionMemory(new MemoryStore(), 's');
    const stops = { on: { 'pre-acting': ({ stop }: { stop(): void }) => stop() } };
    const first = setUp([asked('read', 'pay', 'mail')], { deferRound }, { memory, use: [stops] });
    await first.agent.call('go');
    const limit = toolCallLimit({ tool: 'read', session: 0, text: 'Enough.' });
    const second = setUp([], { deferRound }, { memory, use: [limit] });
    const { reason } = await second.agent.call([
      { toolUseId: 'pay1', type: 'result', output: 'paid by hand' },
      { toolUseId: 'mail2', type: 'reject', reason: 'no' },
    ]);
    expect(reason).toBe('limit');
    expect(await resultsOf(second.agent)).toEqual([
      ['read0', 'interrupted', 'It did not run. Enough.'],
      ['pay1', 'success', 'paid by hand'],
      ['mail2', 'denied', 'Tool call rejected: no'],
    ]);
  },
);

test('a new message keeps what a person has decided about other tool calls of the reply', async () => {
  const { agent, ran } = setUp(
    [asked('pay', 'pay', 'mail'), 'Fine.'],
    {},
    { use: [closeOpenCalls({ text: () => 'canceled' })] },
  );
  await agent.call('go');
  const { pending } = await agent.call([
    { toolUseId: 'pay0', type: 'result', output: 'paid by hand' },
    { toolUseId: 'pay1', type: 'reject', reason: 'no' },
  ]);
  expect(pending).toHaveLength(1);
  expect((await agent.call('never mind')).text).toBe('Fine.');
  expect(await resultsOf(agent)).toEqual([
    ['pay0', 'success', 'paid by hand'],
    ['pay1', 'denied', 'Tool call rejected: no'],
    ['mail2', 'interrupted', 'canceled'],
  ]);
  expect(ran()).toEqual([]);
});

test.each(['interrupt', 'abort'] as const)(
  "an %s while hooks see the other tool calls keeps a person's result and rejection",
  async (how) => {
    const controller = new AbortController();
    let stops = false;
    const stopping: Middleware = {
      on: {
        'pre-acting': (_event, run) => {
          if (!stops) return;
          if (how === 'abort') controller.abort();
          else run.ending.interrupt();
        },
      },
    };
    const { agent, ran } = setUp([asked('read', 'pay', 'mail')], {}, { use: [stopping] });
    await agent.call('go');
    stops = true;
    const decisions: readonly Decision[] = [
      { toolUseId: 'pay1', type: 'result', output: 'paid by hand' },
      { toolUseId: 'mail2', type: 'reject', reason: 'no' },
    ];
    const { reason } = await agent.call(decisions, { signal: controller.signal });
    expect(reason).toBe(how === 'abort' ? 'aborted' : 'interrupted');
    expect(await resultsOf(agent)).toEqual([
      ['read0', 'interrupted', 'Interrupted before it ran.'],
      ['pay1', 'success', 'paid by hand'],
      ['mail2', 'denied', 'Tool call rejected: no'],
    ]);
    expect(ran()).toEqual([]);
  },
);

test('a hook that ends the run before its tools keeps what a person has decided', async () => {
  const needs = (name: string): Tool =>
    tool({ name, description: '', input: {}, needsApproval: true, execute: () => `did ${name}` });
  const model = new ScriptedModel([asked('pay', 'mail', 'send')]);
  const agent = new ReActAgent({ name: 'a', model, tools: ['pay', 'mail', 'send'].map(needs) });
  await agent.call('go');
  agent.addHook({ on: { 'pre-call': ({ jumpTo }) => jumpTo('end', 'Later.') } });
  const decisions: readonly Decision[] = [
    { toolUseId: 'pay0', type: 'result', output: 'paid by hand' },
    { toolUseId: 'mail1', type: 'reject', reason: 'no' },
    approve('send2'),
  ];
  expect((await agent.call(decisions)).text).toBe('Later.');
  expect(await resultsOf(agent)).toEqual([
    ['pay0', 'success', 'paid by hand'],
    ['mail1', 'denied', 'Tool call rejected: no'],
    ['send2', 'interrupted', 'Interrupted before it ran.'],
  ]);
});

test('the answer to a suspended tool is not its result if the run ends before the tool gets it', async () => {
  const asks = tool({
    name: 'read',
    description: '',
    input: {},
    execute: (_input, { suspend, decision }) => (decision ? 'did read' : suspend('Which file?')),
  });
  const model = new ScriptedModel([asked('read')]);
  const agent = new ReActAgent({ name: 'a', model, tools: [{ ...asks, takesDecisions: true }] });
  await agent.call('go');
  agent.addHook({ on: { 'pre-call': ({ jumpTo }) => jumpTo('end', 'Later.') } });
  await agent.call([{ toolUseId: 'read0', type: 'result', output: 'the first' }]);
  const text = 'Interrupted before it finished; its effect is unknown.';
  expect(await resultsOf(agent)).toEqual([['read0', 'interrupted', text]]);
});
