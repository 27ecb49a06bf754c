import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { Memory } from '../memory/memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { adoptRecords } from '../memory/move/adopt-records.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { toolUsesOf, type Msg, toolResultsOf } from '../message/msg.ts';
import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { toolList } from '../tool/set/tool-set.ts';
import { tool } from '../tool/tool.ts';
import { eventsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import { approvals } from './approvals.ts';
import * as z from 'zod';
import { operatorMessage } from '../several/operator.ts';
import { isEdited, isNewestReplyEdited } from '../message/metadata.ts';
import type { Decision } from '@isoloop/core';
import type { ApprovalDecision } from '@isoloop/core/approval';
import { jsonSchema } from '../schema/json-schema.ts';
import type { SchemaLike } from '../schema/schema.ts';

const ran: unknown[] = [];
const pay = tool({
  name: 'pay',
  description: '',
  input: z.object({ n: z.number(), key: z.string().optional() }),
  preset: { key: 'hidden value' },
  needsApproval: true,
  execute: (input, { messages }) => {
    ran.push(input);
    return `paid ${input.n} of ${inputsOf(messages).map(String)}`;
  },
});
const ask = tool({ name: 'ask', description: '', input: {}, needsApproval: true });

const twoCalls: ScriptedReply = {
  toolCalls: [
    { name: 'pay', id: 'c1', input: '{ "n": 1 }' },
    { name: 'pay', id: 'c2', input: { n: 2 } },
  ],
};
const edit = (toolUseId: string, input: unknown) =>
  ({ toolUseId, type: 'edit', input }) as { toolUseId: string; type: 'edit'; input: { n: number } };

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  ran.length = 0;
  const { agent, model } = scriptedAgent(replies, { tools: [pay, ask], ...options });
  return { agent, model };
}

function inputsOf(messages: readonly Msg[]): readonly number[] {
  return messages.flatMap(toolUsesOf).map(({ input }) => (input as { n: number }).n);
}

/** A memory with only the required methods. */
function plainMemory(): Memory {
  let all: readonly Msg[] = [];
  return {
    append: async (messages) => void (all = [...all, ...messages]),
    read: async () => all,
    delete: async (ids) => void (all = all.filter(({ id }) => !ids.includes(id))),
    clear: async () => void (all = []),
  };
}

const memories: readonly (readonly [string, () => Memory | undefined])[] = [
  ['the memory of an agent without one', () => undefined],
  ['a session memory', () => new SessionMemory(new MemoryStore(), 's')],
  ['a memory without `replace`', plainMemory],
];

test.for(memories)('the model and %s get the edit that a person made', async ([, make]) => {
  const memory = make();
  const { agent, model } = setUp([twoCalls, 'done', 'more'], { ...(memory && { memory }) });
  await agent.call('go');
  const result = await agent.call([edit('c1', { n: 10 }), { toolUseId: 'c2', type: 'approve' }]);
  expect(result.text).toBe('done');
  expect(ran).toEqual([
    { n: 10, key: 'hidden value' },
    { n: 2, key: 'hidden value' },
  ]);
  expect(inputsOf(model.requests[1]!.messages)).toEqual([10, 2]);
  const messages = await agent.messages();
  const reply = messages.find(({ role }) => role === 'assistant')!;
  expect(reply.content).toEqual([
    { type: 'tool_use', id: 'c1', name: 'pay', input: { n: 10 } },
    { type: 'tool_use', id: 'c2', name: 'pay', input: { n: 2 } },
  ]);
  expect(reply.metadata).toMatchObject({
    edited: [{ type: 'tool_use', id: 'c1', name: 'pay', input: { n: 1 }, raw: '{ "n": 1 }' }],
  });
  expect(JSON.stringify(messages)).not.toContain('hidden value');
  await agent.call('and?');
  expect(inputsOf(model.requests[2]!.messages)).toEqual([10, 2]);
});

test('edits by `decide` change the log, the next request and the events, also if several are made at once', async () => {
  const decide = ({ toolUseId }: { toolUseId: string }) =>
    ({ type: 'edit', input: { n: toolUseId === 'c1' ? 10 : 20 } }) as const;
  const { agent, model } = setUp([twoCalls, 'done'], { use: [approvals({ decide })] });
  const events = await eventsOf(agent.stream('go'));
  expect(inputsOf(model.requests[1]!.messages)).toEqual([10, 20]);
  expect(inputsOf(await agent.messages())).toEqual([10, 20]);
  const told = events.flatMap((event) =>
    event.type === 'pre-acting' || event.type === 'post-acting'
      ? [`${event.type} ${event.toolUse.id} ${(event.toolUse.input as { n: number }).n}`]
      : [],
  );
  expect(told.filter((line) => line.includes('c1'))).toEqual([
    'pre-acting c1 1',
    'pre-acting c1 10',
    'post-acting c1 10',
  ]);
  expect(told.filter((line) => line.includes('c2'))).toEqual([
    'pre-acting c2 2',
    'pre-acting c2 20',
    'post-acting c2 20',
  ]);
});

test('hooks are not called again for an edited tool call, and readers get the edit before its result', async () => {
  const asked: unknown[] = [];
  const { agent } = setUp([twoCalls, 'done'], {
    use: [{ on: { 'pre-acting': ({ toolUse }) => void asked.push(toolUse.input) } }],
  });
  await agent.call('go');
  const events = await eventsOf(agent.stream([edit('c1', { n: 10 }), edit('c2', { n: 2 })]));
  expect(asked).toEqual([{ n: 1 }, { n: 2 }]);
  const acting = events.flatMap((event) =>
    event.type === 'pre-acting' || event.type === 'post-acting' ? [event] : [],
  );
  expect(
    acting
      .filter(({ toolUse }) => toolUse.id === 'c1')
      .map(({ type, toolUse }) => [type, toolUse.input]),
  ).toEqual([
    ['pre-acting', { n: 10 }],
    ['post-acting', { n: 10 }],
  ]);
});

test('a tool call that is edited twice keeps the model’s arguments as the original', async () => {
  let rounds = 0;
  const patient = tool({
    name: 'patient',
    description: '',
    input: z.object({ n: z.number() }),
    needsApproval: true,
    execute: ({ n }, { suspend }) => (++rounds < 2 ? suspend('once more') : `did ${n}`),
  });
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'patient', id: 'c1', input: { n: 1 } }] }, 'done'],
    { tools: [patient], memory: new SessionMemory(new MemoryStore(), 's') },
  );
  await agent.call('go');
  expect((await agent.call([edit('c1', { n: 2 })])).pending).toMatchObject([{ input: { n: 2 } }]);
  expect((await agent.call([edit('c1', { n: 3 })])).text).toBe('done');
  expect(inputsOf(model.requests[1]!.messages)).toEqual([3]);
  const reply = (await agent.messages()).find(({ role }) => role === 'assistant')!;
  expect(reply.metadata!['edited']).toEqual([
    { type: 'tool_use', id: 'c1', name: 'patient', input: { n: 1 } },
  ]);
});

test('the result’s message contains the edit while another tool call is still pending', async () => {
  const { agent } = setUp([twoCalls, 'done']);
  await agent.call('go');
  const result = await agent.call([edit('c1', { n: 10 })]);
  expect(result.reason).toBe('suspended');
  expect(inputsOf([result.message])).toEqual([10, 2]);
});

test('an edited external tool call waits for its result with the new arguments', async () => {
  const { agent, model } = setUp([
    { toolCalls: [{ name: 'ask', id: 'c1', input: { n: 1 } }] },
    'done',
  ]);
  await agent.call('go');
  expect((await agent.call([edit('c1', { n: 2 })])).pending).toEqual([
    { toolUseId: 'c1', name: 'ask', input: { n: 2 }, kind: 'external' },
  ]);
  await agent.call([{ toolUseId: 'c1', type: 'result', output: 'yes' }]);
  expect(inputsOf(model.requests[1]!.messages)).toEqual([2]);
});

test('a parameter that is hidden from the model is not stored, even if a person sets it', async () => {
  const { agent, model } = setUp([twoCalls, 'done']);
  await agent.call('go');
  await agent.call([edit('c1', { n: 10, key: 'secret' }), { toolUseId: 'c2', type: 'approve' }]);
  expect(model.requests[1]!.messages.flatMap(toolUsesOf)[0]!.input).toEqual({ n: 10 });
  expect(JSON.stringify(await agent.messages())).not.toContain('secret');
});

test('a change by a `pre-acting` hook affects only the tool, not the log', async () => {
  const { agent, model } = setUp([twoCalls, 'done'], {
    use: [
      {
        on: {
          'pre-acting': (event) => ({
            ...event,
            toolUse: { ...event.toolUse, input: { n: 99 } },
          }),
        },
      },
    ],
  });
  await agent.call('go');
  await agent.call(['c1', 'c2'].map((toolUseId) => ({ toolUseId, type: 'approve' }) as const));
  expect(ran).toMatchObject([{ n: 99 }, { n: 99 }]);
  expect(inputsOf(model.requests[1]!.messages)).toEqual([1, 2]);
  expect(inputsOf(await agent.messages())).toEqual([1, 2]);
});

test('an edit that changes nothing leaves the message unchanged', async () => {
  const { agent } = setUp([twoCalls, 'done']);
  await agent.call('go');
  const before = (await agent.messages())[1];
  await agent.call([edit('c1', { n: 1 }), edit('c2', { n: 2 })]);
  expect((await agent.messages())[1]).toEqual(before);
});

test('after a host died between the edit and the tool, the next host executes the edit once', async () => {
  const store = new MemoryStore();
  let dies = true;
  const dying = new (class extends SessionMemory {
    override note(...given: Parameters<SessionMemory['note']>): Promise<void> {
      if (dies && given[0].some(({ kind }) => kind === 'call-started'))
        return Promise.reject(new Error('died'));
      return super.note(...given);
    }
    override append(...given: Parameters<SessionMemory['append']>): Promise<void> {
      if (dies && given[0].some(({ role }) => role === 'tool'))
        return Promise.reject(new Error('died'));
      return super.append(...given);
    }
  })(store, 's');
  const first = setUp([{ toolCalls: [{ name: 'pay', id: 'c1', input: { n: 1 } }] }], {
    memory: dying,
  });
  await first.agent.call('go');
  await first.agent.call([edit('c1', { n: 10 })]).catch(() => {});
  expect(ran).toEqual([]);
  dies = false;
  const second = setUp(['done'], { memory: new SessionMemory(store, 's') });
  expect((await second.agent.call()).text).toBe('done');
  expect(ran).toEqual([{ n: 10, key: 'hidden value' }]);
  const reply = (await second.agent.messages())[1]!;
  expect(inputsOf([reply])).toEqual([10]);
  expect(reply.metadata!['edited']).toEqual([
    { type: 'tool_use', id: 'c1', name: 'pay', input: { n: 1 } },
  ]);
});

test('exported records, a saved state and a compacted log keep an edit', async () => {
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's', { compactAfter: 1 });
  const { agent } = setUp([twoCalls, 'done'], { memory });
  await agent.call('go');
  await agent.call([edit('c1', { n: 10 })]);
  const saved = JSON.parse(JSON.stringify(await saveState(agent))) as unknown;
  const other = setUp(['done']);
  await loadState(other.agent, saved);
  await other.agent.call([{ toolUseId: 'c2', type: 'approve' }]);
  expect(inputsOf(other.model.requests[0]!.messages)).toEqual([10, 2]);

  const copy = new SessionMemory(new MemoryStore(), 's2');
  await adoptRecords(copy, await memory.records());
  expect(inputsOf(await copy.read())).toEqual([10, 2]);
  const reopened = new SessionMemory(store, 's', { compactAfter: 1 });
  await reopened.rename('compacts');
  expect(inputsOf(await new SessionMemory(store, 's').read())).toEqual([10, 2]);
});

test('an edit without a JSON form is rejected, and the tool call can still be decided', async () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const { agent } = setUp([twoCalls, 'done']);
  await agent.call('go');
  for (const input of [cyclic, { n: 1n }, () => {}])
    await expect(agent.call([edit('c1', input)])).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect((await agent.call([edit('c1', { n: 3 })])).reason).toBe('suspended');

  const errors: unknown[] = [];
  const decide = () => ({ type: 'edit', input: cyclic }) as never;
  const onError = (error: unknown): void => void errors.push(error);
  const asking = setUp([twoCalls, 'done'], { use: [approvals({ decide, onError })] });
  expect((await asking.agent.call('go')).reason).toBe('suspended');
  expect(errors[0]).toMatchObject({ code: 'INVALID_DECISION' });
});

test('changing the arguments object after the edit has no effect', async () => {
  const input = { n: 10 };
  const { agent } = setUp([twoCalls, 'done']);
  await agent.call('go');
  await agent.call([edit('c1', input)]);
  input.n = 11;
  expect(inputsOf(await agent.messages())).toEqual([10, 2]);
});

test('an edit that middleware notes before a round reaches the tool, the log and the model', async () => {
  const { agent, model } = setUp([twoCalls, 'done']);
  await agent.call('go');
  const editor: Middleware = {
    wrapRound: async (round, next, run) => {
      const notes = [edit('c1', { n: 10 }), { toolUseId: 'c2', type: 'approve' } as const];
      await run.calls.note(notes.map((decision) => ({ kind: 'decision', decision })));
      return next({ ...round, calls: run.calls.open });
    },
  };
  expect((await agent.call(undefined, { use: [editor] })).text).toBe('done');
  expect(ran).toMatchObject([{ n: 10 }, { n: 2 }]);
  expect(inputsOf(model.requests[1]!.messages)).toEqual([10, 2]);
  expect(inputsOf(await agent.messages())).toEqual([10, 2]);
});

test('an edit in an aborted call changes nothing', async () => {
  const { agent } = setUp([twoCalls, 'done']);
  await agent.call('go');
  const controller = new AbortController();
  agent.addHook({ on: { 'pre-call': () => controller.abort() } });
  await agent.call([edit('c1', { n: 10 })], { signal: controller.signal });
  expect(inputsOf(await agent.messages())).toEqual([1, 2]);
});

/** A model whose tool calls have provider metadata. */
class ProviderModel extends ScriptedModel {
  override async *stream(
    request: ModelRequest,
    context: Parameters<ScriptedModel['stream']>[1],
  ): AsyncGenerator<readonly ModelDelta[]> {
    for await (const batch of super.stream(request, context))
      yield batch.map((delta) => {
        if (delta.type === 'finish') return { ...delta, metadata: { id: 'resp_1' } };
        if (delta.type === 'thinking') return { ...delta, signature: 'sig' };
        return delta.type === 'tool-input' && delta.name
          ? {
              ...delta,
              providerMetadata: {
                openai: { itemId: 'fc_1' },
                google: { thoughtSignature: 'thought' },
              },
            }
          : delta;
      });
  }
}

test('an edit keeps the provider’s metadata, and marks the reply as edited', async () => {
  const model = new ProviderModel([
    { thinking: 'Hm.', toolCalls: twoCalls.toolCalls! },
    { toolCalls: [{ name: 'pay', id: 'c3', input: { n: 3 } }] },
    'done',
  ]);
  const agent = new ReActAgent({ name: 'a', model, tools: [pay] });
  await agent.call('go');
  const decisions = [edit('c1', { n: 10 }), { toolUseId: 'c2', type: 'approve' } as const];
  await agent.call(decisions);
  const [, { messages }] = model.requests as [unknown, ModelRequest];
  const reply = messages[1]!;
  const providerMetadata = {
    openai: { itemId: 'fc_1' },
    google: { thoughtSignature: 'thought' },
  };
  expect(reply.content).toMatchObject([
    { type: 'thinking', signature: 'sig' },
    { input: { n: 10 }, providerMetadata },
    { input: { n: 2 }, providerMetadata },
  ]);
  expect(['c1', 'c2'].map((id) => isEdited(reply, id))).toEqual([true, false]);
  expect(isNewestReplyEdited(messages)).toBe(true);
  const written = operatorMessage('I have changed it.', { name: 'Ann' });
  expect(isNewestReplyEdited([...messages, written])).toBe(true);

  // The next reply came after the edit, so what the provider stores of it is current.
  await agent.call([{ toolUseId: 'c3', type: 'approve' }]);
  expect(isNewestReplyEdited(model.requests[2]!.messages)).toBe(false);
});

test('a decision that a tool handles itself does not edit the tool call', async () => {
  const asked: unknown[] = [];
  const parent = tool({
    name: 'parent',
    description: '',
    input: z.object({ n: z.number() }),
    execute: (_input, { decision, suspend }) => {
      asked.push(decision);
      return decision ? 'decided' : suspend('waits');
    },
  });
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'parent', id: 'c1', input: { n: 1 } }] }, 'done'],
    { tools: toolList([{ ...parent, takesDecisions: true }]) },
  );
  await agent.call('go');
  await agent.call([edit('c1', { m: 'other' })]);
  expect(asked[1]).toMatchObject({ type: 'edit', input: { m: 'other' } });
  expect(inputsOf(model.requests[1]!.messages)).toEqual([1]);
});

const sum = z.object({ coins: z.number().positive() });

/** Creates an agent whose model calls `pay` twice. `paid`: the arguments of each payment. */
function payer(input: SchemaLike = sum, more: Partial<AgentOptions> = {}) {
  const paid: unknown[] = [];
  const payCoins = tool({
    name: 'pay',
    description: '',
    input,
    needsApproval: true,
    execute: (args) => (paid.push(args), 'paid'),
  });
  const toolCalls = ['c1', 'c2'].map((id) => ({ id, name: 'pay', input: { coins: 1 } }));
  const model = new ScriptedModel([{ toolCalls }, 'Done.']);
  return { agent: new ReActAgent({ name: 'a', model, tools: [payCoins], ...more }), model, paid };
}

const editOf = (input: unknown, toolUseId = 'c1') =>
  ({ type: 'edit', toolUseId, input }) as Decision;
const approve = (toolUseId: string): Decision => ({ type: 'approve', toolUseId });

test.for([{ coins: -5 }, { coins: '20' }, {}, null, 'all', [1]])(
  'the edit %# is refused, nothing is stored, and the tool call still waits',
  async (input) => {
    const { agent, model, paid } = payer();
    await agent.call('Pay');
    const before = await saveState(agent);
    const error = { code: 'INVALID_DECISION', message: expect.stringContaining('"c1"') };
    await expect(agent.call([editOf(input), approve('c2')])).rejects.toMatchObject(error);
    await expect(
      agent.call('Hi', { decisions: [editOf(input), approve('c2')] }),
    ).rejects.toMatchObject(error);
    expect(await saveState(agent)).toEqual(before);
    expect([paid, model.requests.length]).toEqual([[], 1]);
    const { text } = await agent.call([editOf({ coins: 3 }), approve('c2')]);
    expect([text, paid]).toEqual(['Done.', [{ coins: 3 }, { coins: 1 }]]);
  },
);

test('the error of a bad edit says what is wrong, to the person and not to the model', async () => {
  const { agent } = payer();
  await agent.call('Pay');
  await expect(agent.call([editOf({ coins: '20' }), approve('c2')])).rejects.toThrow(
    'Tool call "c1" cannot run with these arguments. The arguments of "pay" do not fit its schema:\n' +
      '- coins: Invalid input: expected number, received string',
  );
  await expect(agent.call([editOf({ coins: '20' }), approve('c2')])).rejects.not.toThrow('Correct');
});

test('an edit is checked with asynchronous rules, JSON Schema and defaults', async () => {
  const refined = z.object({ coins: z.number().refine(async (coins) => coins < 10) });
  const plain = jsonSchema({
    type: 'object',
    properties: { coins: { type: 'integer', maximum: 9 } },
    required: ['coins'],
  });
  for (const schema of [refined, plain]) {
    const { agent, paid } = payer(schema);
    await agent.call('Pay');
    await expect(agent.call([editOf({ coins: 20 }), approve('c2')])).rejects.toMatchObject({
      code: 'INVALID_DECISION',
    });
    await agent.call([editOf({ coins: 5 }), approve('c2')]);
    expect(paid).toEqual([{ coins: 5 }, { coins: 1 }]);
  }
  const { agent, paid } = payer(
    z.object({ coins: z.coerce.number(), to: z.string().default('Ann') }),
  );
  await agent.call('Pay');
  await agent.call([editOf({ coins: '7' }), approve('c2')]);
  expect(paid).toEqual([
    { coins: 7, to: 'Ann' },
    { coins: 1, to: 'Ann' },
  ]);
});

test('an edit that `decide` makes is refused, and the tool call waits for a decision', async () => {
  const errors: unknown[] = [];
  const decide = (): ApprovalDecision => ({ type: 'edit', input: { coins: -5 } });
  const onError = (error: unknown): void => void errors.push(error);
  const { agent, model, paid } = payer(sum, { use: [approvals({ decide, onError })] });
  const { pending } = await agent.call('Pay');
  expect(pending.map(({ toolUseId }) => toolUseId)).toEqual(['c1', 'c2']);
  expect(errors).toMatchObject([{ code: 'INVALID_DECISION' }, { code: 'INVALID_DECISION' }]);
  expect([paid, model.requests.length]).toEqual([[], 1]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toEqual([]);
});

test('a deferred round refuses the edit, and runs after a good one', async () => {
  const { agent, paid } = payer(sum, { use: [approvals({ deferRound: true })] });
  await agent.call('Pay');
  await expect(agent.call([editOf({ coins: 0 })])).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  await agent.call([editOf({ coins: 2 }), approve('c2')]);
  expect(paid).toEqual([{ coins: 2 }, { coins: 1 }]);
});
