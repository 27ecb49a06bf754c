import { closeOpenCalls } from '../approval/close-open-calls.ts';
import { expect, test } from 'vitest';
import type { AgentEvent, EventOf } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { userMessage, textOf, toolResultsOf, type Msg } from '../message/msg.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { AgentError } from '../error/agent-error.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { calls, eventsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import { rolesOf } from '@test/roles-of.ts';
import type { Middleware, RequestDraft, Run } from './middleware.ts';
import { isEnding, type Ending } from './next.ts';
import { perRun } from './per-run.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';

const external = tool({ name: 'external', description: '', input: {} });
function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  return scriptedAgent(replies, { tools: [external], ...options });
}

const limit = (message: Msg): Ending => ({ kind: 'answer', reason: 'limit', message });

const ofType = <K extends AgentEvent['type']>(
  events: readonly AgentEvent[],
  type: K,
): EventOf<K>[] => events.filter((event): event is EventOf<K> => event.type === type);

/**
 * A store that rejects each message whose text equals the field `refused`. With `refused` set to
 * `delete` or `flush`, it rejects this operation.
 */
class Refusing extends InMemoryMemory {
  refused: string | undefined;
  readonly log: string[] = [];
  override async append(messages: readonly Msg[]): Promise<void> {
    if (messages.some((message) => this.refused !== undefined && textOf(message) === this.refused))
      throw new Error('full');
    for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
    await super.append(messages);
    this.log.push(...messages.map((message) => textOf(message) || message.role));
  }
  override async delete(ids: readonly string[]): Promise<void> {
    if (this.refused === 'delete') throw new Error('full');
    await super.delete(ids);
  }
  override async flush(): Promise<void> {
    if (this.refused === 'flush') throw new Error('full');
    this.log.push('flush');
  }
}

test('tool calls that new input closes get their results before the new input', async () => {
  const { agent } = setUp([calls('external'), 'fine'], { use: [closeOpenCalls()] });
  await agent.call('go');
  await agent.call('never mind');
  expect(rolesOf(await agent.messages())).toBe('user assistant tool user assistant');
});

test('stop() in a `post-acting` hook is ignored if the tool result only closes a tool call for new input', async () => {
  const { agent } = setUp([calls('external'), 'fine'], {
    use: [{ on: { 'post-acting': (event) => event.stop() } }, closeOpenCalls()],
  });
  await agent.call('go');
  expect(await agent.call('never mind')).toMatchObject({ reason: 'stop', text: 'fine' });
});

test('a step-reset event names its reason', async () => {
  let paused = false;
  const { agent } = setUp(['one two', 'three'], {
    use: [
      {
        on: {
          'reasoning-chunk': () => {
            if (!paused) paused = agent.interrupt({ mode: 'pause' });
          },
          'post-reasoning': (event) => ({
            ...event,
            message: { ...event.message, content: [{ type: 'text', text: 'edited' }] },
          }),
        },
      },
    ],
  });
  await agent.call('go');
  const events = await eventsOf(agent.stream());
  expect(ofType(events, 'step-reset')).toMatchObject([
    { reason: 'resume' },
    { reason: 'post-reasoning' },
  ]);
});

test('an error in wrapSettle ends the call with an error', async () => {
  const { agent, model } = setUp(['hello'], {
    use: [{ wrapSettle: () => Promise.reject(new Error('gone')) }],
  });
  await expect(agent.call('go')).rejects.toThrow('gone');
  expect(model.requests).toEqual([]);
});

test('the message of an interrupt is emitted as a text chunk, with the id of the stored message', async () => {
  const { agent } = setUp([], {
    use: [{ on: { 'pre-call': () => void agent.interrupt('Stopped.') } }],
  });
  const chunks = ofType(await eventsOf(agent.stream('go')), 'reasoning-chunk');
  const { id } = (await agent.messages()).at(-1)!;
  expect(chunks).toMatchObject([{ kind: 'text', delta: 'Stopped.', blockId: `${id}:0` }]);
});

test('the stored part of an interrupted reply has the id that its chunks had', async () => {
  const { agent } = setUp([{ text: 'one two three' }], {
    use: [{ on: { 'reasoning-chunk': () => void agent.interrupt() } }],
  });
  const [first] = ofType(await eventsOf(agent.stream('go')), 'reasoning-chunk');
  const partial = (await agent.messages()).find(({ metadata }) => metadata?.['partial']);
  expect(first!.blockId).toBe(`${partial!.id}:0`);
});

test('the error about a hook that returns an invalid message names the event and the field', async () => {
  const { agent } = setUp(['hello'], {
    use: [{ on: { 'post-reasoning': (event) => ({ ...event, message: 'no' as unknown as Msg }) } }],
  });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { event: 'post-reasoning', field: 'message' },
  });
});

test('the date of the system prompt comes from the agent’s `now`', async () => {
  const { agent, model } = setUp(['hello'], { systemPrompt: 'Be kind.', now: () => 0 });
  await agent.call('go');
  expect(model.requests[0]!.messages[0]).toMatchObject({
    role: 'system',
    createdAt: '1970-01-01T00:00:00.000Z',
  });
});

test.for([false, true])('`needsApproval` may be an asynchronous function: %s', async (needed) => {
  const asks = tool({
    name: 'asks',
    description: '',
    input: {},
    needsApproval: async () => needed,
    execute: () => 'ran',
  });
  const { agent } = setUp([calls('asks'), 'done'], { tools: [asks] });
  expect(await agent.call('go')).toMatchObject({ reason: needed ? 'suspended' : 'stop' });
  expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(needed ? 0 : 1);
});

test('an approved tool call on whose result a hook failed does not run again', async () => {
  let ran = 0;
  const memory = new Refusing();
  const asks = tool({
    name: 'asks',
    description: '',
    input: {},
    needsApproval: true,
    execute: () => `ran ${(ran += 1)}`,
  });
  let broken = true;
  const { agent } = setUp([calls('asks'), 'done'], {
    memory,
    tools: [asks],
    use: [
      {
        on: {
          'post-acting': () => {
            if (broken) throw new Error('hook down');
          },
        },
      },
    ],
  });
  const { pending } = await agent.call('go');
  await expect(
    agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'approve' }]),
  ).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  broken = false;
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'done' });
  expect(ran).toBe(1);
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { output: 'Error: A hook failed after this call ended.' },
  ]);
});

test('if the store fails to delete a partial reply, the call fails without a model request', async () => {
  const memory = new Refusing();
  const { agent, model } = setUp(['one two', 'three'], { memory });
  const off = agent.addHook({
    on: { 'reasoning-chunk': () => void agent.interrupt({ mode: 'pause' }) },
  });
  await agent.call('go');
  off();
  memory.refused = 'delete';
  await expect(agent.call()).rejects.toThrow('full');
  expect(model.requests).toHaveLength(1);
});

test('if the store rejects messages of gotoReasoning(), the call fails', async () => {
  const memory = new Refusing();
  memory.refused = 'think harder';
  const { agent, model } = setUp(['one', 'two'], {
    memory,
    use: [
      {
        on: {
          'post-reasoning': (event) => event.gotoReasoning([userMessage('think harder')]),
        },
      },
    ],
  });
  await expect(agent.call('go')).rejects.toThrow('full');
  expect(model.requests).toHaveLength(1);
});

test('a call that fails stores its messages and then flushes the store', async () => {
  const memory = new Refusing();
  const { agent } = setUp([{ text: 'one', error: new Error('down') }], {
    memory,
    use: [
      {
        on: { 'reasoning-chunk': () => void agent.interrupt({ mode: 'inject', messages: 'wait' }) },
      },
    ],
  });
  await expect(agent.call('go')).rejects.toThrow('down');
  expect(memory.log).toEqual(['go', 'wait', 'flush']);
});

test('observe() resolves after the message is stored and flushed', async () => {
  const memory = new Refusing();
  const { agent } = setUp([], { memory });
  await agent.observe('it rains');
  expect(memory.log).toEqual(['it rains', 'flush']);
  for (const refused of ['it snows', 'flush']) {
    memory.refused = refused;
    await expect(agent.observe('it snows')).rejects.toThrow('full');
  }
});

test('the error about an invalid input item contains the index of the item', async () => {
  const { agent } = setUp([]);
  await expect(agent.call([userMessage('go'), 'no' as unknown as Msg])).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    details: { index: 1 },
  });
});

test('a second reader of batches() is rejected', async () => {
  const { agent } = setUp(['hello']);
  const stream = agent.stream('go');
  await stream.batches().next();
  await expect(stream.batches().next()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await stream.cancel();
});

test('readable() reads nothing before its reader does, and returns all events', async () => {
  const { agent } = setUp(['one two']);
  const told: string[] = [];
  agent.addHook({ on: { '*': ({ type }) => void told.push(type) } });
  const stream = agent.stream('go');
  const reader = stream.readable().getReader();
  for (let tick = 0; tick < 50; tick += 1) await Promise.resolve();
  expect(told).toEqual([]);
  const seen: string[] = [];
  for (let read = await reader.read(); !read.done; read = await reader.read())
    seen.push(...read.value.map(({ type }) => type));
  expect(seen).toEqual(told);
  expect(seen.at(-1)).toBe('run-end');
});

test.each<[string, Middleware]>([
  [
    'wrapRound',
    { wrapRound: async (_round, _next, run) => limit(run.createMessage('assistant', 'ok')) },
  ],
  [
    'wrapReply, after next',
    {
      wrapReply: async (reply, next) => {
        await next(reply);
        return limit(reply.message);
      },
    },
  ],
  [
    'wrapReply, without next',
    {
      wrapReply: async ({ message }) => limit(message),
    },
  ],
  [
    'wrapReply, a rejection after next',
    {
      wrapReply: async (reply, next) => {
        await next(reply);
        throw new AgentError('GUARD_REJECTED', 'No.');
      },
    },
  ],
])('a run that %s ends leaves no open tool call', async (_name, part) => {
  const { agent } = setUp([calls('external'), 'fine']);
  const { reason, pending } = await agent.call('go', { use: [part] });
  expect(reason).toMatch(/^(limit|rejected)$/);
  expect(pending).toEqual([]);
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results.map(({ state }) => state)).toEqual(['interrupted']);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(await agent.call('again')).toMatchObject({ reason: 'stop', text: 'fine' });
});

test('a rejected input leaves the tool calls of an earlier run open', async () => {
  const { agent } = setUp([calls('external'), 'fine']);
  const [open] = (await agent.call('go')).pending;
  const rejecting: Middleware = {
    on: { 'pre-call': ({ reject }) => reject('Not now.') },
  };
  const toolUseId = open!.toolUseId;
  const rejected = await agent.call([{ toolUseId, type: 'result', output: 'done' }], {
    use: [rejecting],
  });
  expect(rejected).toMatchObject({ reason: 'rejected', pending: [{ toolUseId }] });
});

const refused = async (): Promise<never> => {
  throw new AgentError('GUARD_REJECTED', 'Not now.');
};

/** What may refuse an input before the run reads the messages of the log. */
const refusals: readonly (readonly [string, Middleware])[] = [
  ['wrapInput', { wrapInput: refused }],
  ['a hook of `run-start`', { on: { 'run-start': ({ reject }) => reject('Not now.') } }],
];

const toolUseId = 'call_1';
const decided = [{ toolUseId, type: 'result', output: 'done' }] as const;

test.each(
  refusals.flatMap(([refuser, part]) => [
    [refuser, 'a result', part, decided] as const,
    [refuser, 'a message', part, 'and now?'] as const,
  ]),
)('if %s rejects %s, the result names the calls that wait', async (_by, _what, part, input) => {
  const rejected = { reason: 'rejected', pending: [{ toolUseId, kind: 'external' }] };
  const store = new MemoryStore();
  const memory = (): SessionMemory => new SessionMemory(store, 's');
  const { agent } = setUp([calls('external'), 'fine'], { memory: memory() });
  await agent.call('go');
  expect(await agent.call(input, { use: [part] })).toMatchObject(rejected);
  // Another process knows the calls only from the log.
  const { agent: other } = setUp(['fine'], { memory: memory() });
  expect(await other.call(input, { use: [part] })).toMatchObject(rejected);
  expect(await other.call(decided)).toMatchObject({ reason: 'stop', text: 'fine', pending: [] });
});

test('a rejected input names the calls that wait also without a log', async () => {
  const { agent } = setUp([calls('external'), 'fine']);
  await agent.call('go');
  const use = [{ wrapInput: refused }];
  const rejected = { reason: 'rejected', pending: [{ toolUseId }] };
  expect(await agent.call(decided, { use })).toMatchObject(rejected);
  expect(await agent.call(decided)).toMatchObject({ reason: 'stop', pending: [] });
  expect(await agent.call('no', { use })).toMatchObject({ reason: 'rejected', pending: [] });
});

test('a message that no model wrote passes no `post-reasoning` hook, whatever its reason', async () => {
  const seen: unknown[] = [];
  const answering: Middleware = {
    on: { 'post-reasoning': ({ message }) => void seen.push(message) },
    wrapRequest: async (_draft, _next, run) =>
      run.ending.reply(run.createMessage('assistant', 'Mine.'), 'stop'),
    wrapReply: (reply, next) => {
      seen.push(reply.request);
      return next(reply);
    },
  };
  const { agent } = setUp([], { use: [answering] });
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'Mine.' });
  expect(seen).toEqual([undefined]);
});

test.each<[string, (draft: RequestDraft) => Ending]>([
  ['unanswered', () => ({ kind: 'unanswered', reason: 'stop' })],
  ['suspended', () => ({ kind: 'unanswered', reason: 'suspended' })],
  ['limit', (draft) => ({ kind: 'limit', reason: 'limit', draft })],
])(
  'readers get a step-reset if a wrapReply leaves out the reply that they have: %s',
  async (_kind, endingWith) => {
    const draftOf = perRun(() => ({ draft: {} as RequestDraft }));
    const leavesOut: Middleware = {
      wrapRequest: (draft, next, run) => {
        draftOf(run).draft = draft;
        return next(draft);
      },
      wrapReply: async (reply, next, run) => {
        await next(reply);
        return endingWith(draftOf(run).draft);
      },
    };
    const { agent } = setUp(['Seen by readers.'], { use: [leavesOut] });
    const stream = agent.stream('go');
    const resets: AgentEvent[] = [];
    for await (const event of stream) if (event.type === 'step-reset') resets.push(event);
    const { text, reason } = await stream.result;
    expect(text).toBe('');
    expect((await agent.messages()).map(textOf)).toEqual(['go']);
    expect(resets).toMatchObject([{ reason: endingWith({} as RequestDraft).kind }]);
    expect(resets[0]).not.toHaveProperty('replacement');
    expect(reason).toBe(endingWith({} as RequestDraft).reason);
  },
);

test('an end of a run without its kind is refused', async () => {
  const ending = { reason: 'limit' } as unknown as Ending;
  const { agent } = setUp(['ok'], { use: [{ wrapReply: async () => ending }] });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test('an end of a run takes only the reasons of its kind', () => {
  const message = userMessage('hi');
  const endings: readonly Ending[] = [
    { kind: 'answer', reason: 'limit', message },
    { kind: 'stored', reason: 'stop', message },
    { kind: 'custom', reason: 'rejected', message },
    { kind: 'unanswered', reason: 'suspended' },
    // @ts-expect-error: an aborted run has no answer.
    { kind: 'answer', reason: 'aborted', message },
    // @ts-expect-error: a limit refuses a request, and the run has not suspended.
    { kind: 'limit', reason: 'suspended', draft: {} as RequestDraft },
    // @ts-expect-error: an interrupted run has an answer.
    { kind: 'unanswered', reason: 'interrupted' },
    // @ts-expect-error: a failure has no ending.
    { kind: 'custom', reason: 'error', message },
  ];
  expect(endings.every(isEnding)).toBe(true);
});

test.each<[how: string, abort: (run: Run, caller: AbortController) => void, end: string]>([
  ['an abort', (_run, caller) => caller.abort(), 'aborted'],
  ['a failure', (run) => run.ending.fail(new AgentError('CALL_TIMEOUT', 'late')), 'error'],
])('%s ends a loop of rounds without a model request', async (_how, abort, end) => {
  const caller = new AbortController();
  let rounds = 0;
  const { agent } = setUp([calls('external')], {
    use: [
      {
        wrapRound: async (_round, _next, run) => {
          rounds += 1;
          if (rounds === 3) abort(run, caller);
          if (rounds > 50) throw new Error('The loop goes on.');
          return { to: 'tools' };
        },
      },
    ],
  });
  const result = await agent.call('go', { signal: caller.signal, throwOnError: false });
  expect({ reason: result.reason, rounds }).toEqual({ reason: end, rounds: 3 });
});
