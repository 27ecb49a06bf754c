import {
  AgentError,
  textOf,
  tool,
  toolResultsOf,
  type AgentEvent,
  type JsonValue,
  type Msg,
  type PendingCall,
} from '@isoloop/core';
import { contextToken, provide } from '@isoloop/core/tool';
import { ScriptedModel } from '@isoloop/core/testing';
import {
  connectAgent,
  pageApprovals,
  pageHooks,
  pageModel,
  pageTools,
  type ConnectOptions,
  type RemoteAgent,
} from '@isoloop/web-worker';
import { readUIMessageStream, type UIMessage } from 'ai';
import * as z from 'zod';
import { expect, onTestFinished, test } from 'vitest';
import { initialCredits } from '../../wire/protocol.ts';
import type { PageFixtureOptions } from '../../../test-support/page.ts';
import { fakeClock } from '../../../../../test/clock/fake-clock.ts';

type Connect = (options?: PageFixtureOptions, more?: Partial<ConnectOptions>) => RemoteAgent;

function startWorker(): { readonly worker: Worker; readonly connect: Connect } {
  const worker = new Worker(new URL('../../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  // Workers with one session id are tabs and share an agent, so each worker gets an id of its own.
  let sessionId: string = crypto.randomUUID();
  return {
    worker,
    connect: (options = {}, more = {}) => {
      sessionId = options.database ?? sessionId;
      return connectAgent(worker, {
        timeoutMs: 120_000,
        agent: 'main',
        sessionId,
        options,
        ...more,
      });
    },
  };
}

const results = (messages: readonly Msg[]): readonly JsonValue[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => output as JsonValue);
const calls = (name: string, input: JsonValue = {}, then = 'done') => [
  { toolCalls: [{ name, input }] },
  then,
];
const forever = (): Promise<never> => new Promise(() => {});

const title = tool({
  name: 'title',
  description: 'Sets the title',
  input: z.object({
    text: z.string().max(5),
    at: z.iso
      .date()
      .transform((text) => new Date(text))
      .optional(),
  }),
  execute: ({ text, at }, { emit }) => {
    emit({ setting: text });
    document.title = text;
    return `${location.protocol} ${at instanceof Date ? at.getUTCFullYear() : ''}`.trim();
  },
});

test('a page tool runs on the page: its schema, transformed input, progress and result cross to and from the worker', async () => {
  const agent = startWorker().connect(
    { replies: calls('title', { text: 'five', at: '2026-01-02' }) },
    { page: [pageTools([title])] },
  );
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  const [asked] = events.filter((event) => event.type === 'pre-reasoning');
  expect(asked?.tools.find(({ name }) => name === 'title')?.parameters).toMatchObject({
    properties: { text: { type: 'string', maxLength: 5 } },
  });
  expect(events.filter((event) => event.type === 'acting-chunk').map(({ chunk }) => chunk)).toEqual(
    [{ setting: 'five' }],
  );
  expect(document.title).toBe('five');
  expect(results(await agent.messages())).toEqual([`${location.protocol} 2026`]);
});

test('a page tool does not run on arguments that do not fit its schema, and the model gets an error', async () => {
  let ran = 0;
  const counting = tool({
    name: 'n',
    description: 'x',
    input: z.object({ n: z.number() }),
    execute: () => (ran += 1),
  });
  const agent = startWorker().connect(
    { replies: calls('n', { n: 'three' }) },
    { page: [pageTools([counting])] },
  );
  await agent.call('go');
  expect(results(await agent.messages())).toEqual([
    expect.stringContaining('The arguments of "n" do not fit its schema:\n- n: '),
  ]);
  expect(ran).toBe(0);
});

const odd = (execute: () => unknown, more = {}) =>
  tool({
    name: 'odd',
    description: 'x',
    input: { type: 'object' },
    execute: execute as () => string,
    ...more,
  });

const toolThatEmits = (progress: unknown) =>
  tool({
    name: 'odd',
    description: 'x',
    input: { type: 'object' },
    execute: (_input, { emit }) => (emit(progress as string), 'ok'),
  });

test('maps, sets and bytes in a page tool’s result reach the model as JSON', async () => {
  const value = { map: new Map([['a', new Set([1])]]), bytes: new Uint8Array([2]) };
  const agent = startWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([odd(() => value)])] },
  );
  await agent.call('go');
  expect(results(await agent.messages())).toEqual(['{"map":{"a":[1]},"bytes":[2]}']);
});

test.for<readonly [what: string, block: object, output: unknown]>([
  [
    'provider metadata',
    {
      type: 'text',
      text: 'Hi',
      providerMetadata: { responses: { index: 0, item: { role: 'system' } } },
      cache_control: {},
    },
    [{ type: 'text', text: 'Hi' }],
  ],
  [
    'an image at a file: address',
    { type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } },
    expect.stringContaining('output[0].source.url must be an http, https or data URL'),
  ],
  [
    'an image at a blob: address',
    { type: 'image', source: { type: 'url', url: 'blob:https://example.com/1' } },
    expect.stringContaining('must be an http, https or data URL'),
  ],
  [
    'an image that is HTML',
    { type: 'image', source: { type: 'base64', mediaType: 'text/html', data: 'PHA+' } },
    expect.stringContaining('must be a media type of the kind image'),
  ],
  [
    'a source of an unknown type',
    { type: 'image', source: { type: 'constructor', url: 'https://example.com' } },
    expect.stringContaining('output[0].source.type must be'),
  ],
  [
    'an image',
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' }, extra: 1 },
    [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }],
  ],
])('of the blocks of a page tool, only known fields and addresses pass: %s', async (row) => {
  const [, block, output] = row;
  const agent = startWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([odd(() => ({ content: [block] }))])] },
  );
  await agent.call('go');
  expect(results(await agent.messages())).toEqual([output]);
});

test.for([
  [
    'throws',
    odd(() => {
      throw new RangeError('too far');
    }),
    'Error: too far',
  ],
  [
    'throws a value that is not an Error',
    odd(() => {
      throw 'nothing';
    }),
    'Error: nothing',
  ],
  [
    'returns a value without a JSON form',
    odd(() => () => {}),
    /The result of the page tool "odd" has no JSON form: it is a function/,
  ],
  ['returns an Error object', odd(() => new TypeError('not found')), 'Error: not found'],
  [
    'returns a response',
    odd(() => ({ got: new Response('x') })),
    /has no JSON form: the object "got" \(Response\) has no fields/,
  ],
  [
    'reports progress without a JSON form',
    toolThatEmits(() => {}),
    /The progress of "odd" has no JSON form: it is a function/,
  ],
  ['never returns', odd(forever, { timeoutMs: 20 }), 'Error: Tool "odd" timed out after 20 ms'],
] as const)('a page tool that %s gives the model an error', async ([, given, text]) => {
  const agent = startWorker().connect({ replies: calls('odd') }, { page: [pageTools([given])] });
  expect((await agent.call('go')).text).toBe('done');
  const [message] = results(await agent.messages());
  if (typeof text === 'string') expect(message).toBe(text);
  else expect(message).toMatch(text);
});

test('a page tool’s TOOL_ERROR ends the call with its class, code and details', async () => {
  const fatal = odd(() => {
    throw new AgentError('TOOL_ERROR', 'no more', { details: { why: 'quota' } });
  });
  const agent = startWorker().connect({ replies: calls('odd') }, { page: [pageTools([fatal])] });
  const error = await agent.call('go').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({
    code: 'TOOL_ERROR',
    message: 'no more',
    details: { why: 'quota' },
  });
});

test('an abort reaches the signal of a page tool', async () => {
  const controller = new AbortController();
  let raised: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => (raised = resolve));
  const waiting = tool({
    name: 'odd',
    description: 'x',
    input: { type: 'object' },
    execute: (_input, { signal }) => {
      signal.addEventListener('abort', () => raised!());
      controller.abort();
      return forever();
    },
  });
  const agent = startWorker().connect({ replies: calls('odd') }, { page: [pageTools([waiting])] });
  expect((await agent.call('go', { signal: controller.signal })).reason).toBe('aborted');
  await ended;
});

test('a page tool reads the context tokens of its page, and can suspend its call until a decision', async () => {
  const element = contextToken<HTMLElement>('element');
  const reads = tool({
    name: 'odd',
    description: 'x',
    input: { type: 'object' },
    execute: (_input, { get, suspend, decision }) =>
      decision ? get(element).id : suspend('which?'),
  });
  const part = pageTools([{ ...reads, takesDecisions: true }], {
    toolContext: [provide(element, Object.assign(document.createElement('p'), { id: 'p1' }))],
  });
  const agent = startWorker().connect({ replies: calls('odd') }, { page: [part] });
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  const [pending] = await agent.pending();
  expect(pending).toMatchObject({ name: 'odd', kind: 'suspended', reason: 'which?' });
  expect((await agent.decide({ toolUseId: pending!.toolUseId, type: 'approve' })).text).toBe(
    'done',
  );
  expect(results(await agent.messages())).toEqual(['p1']);
});

test('a page tool can suspend its call without a reason', async () => {
  const waits = tool({
    name: 'odd',
    description: 'x',
    input: { type: 'object' },
    execute: (_input, { suspend }) => suspend(),
  });
  const agent = startWorker().connect({ replies: calls('odd') }, { page: [pageTools([waits])] });
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  const [pending] = await agent.pending();
  expect(pending).toMatchObject({ name: 'odd', kind: 'suspended' });
  expect(pending!.reason).toBeUndefined();
});

test('the first page with a tool runs it, and after that page has left the next one; without a page the call is suspended', async () => {
  const { connect } = startWorker();
  const named = (text: string) => [pageTools([odd(() => text)])];
  const call = { toolCalls: [{ name: 'odd' }] };
  const replies = [call, 'a', call, 'b', call, 'c'];
  const [one, two, three] = [
    connect({ replies }, { page: named('one') }),
    connect({}, { page: named('two') }),
    connect(),
  ];
  await three.call('go');
  one.close();
  await three.call('go');
  two.close();
  expect(await three.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ reason: 'The page that runs the tool is gone.' }],
  });
  const again = connect({}, { page: named('again') });
  const [{ toolUseId }] = (await again.pending()) as readonly [PendingCall];
  expect((await again.decide({ toolUseId, type: 'approve' })).text).toBe('c');
  expect(results(await three.messages())).toEqual(['one', 'two', 'again']);
});

test('when a page leaves while its tool runs, the call is suspended and the page’s hooks no longer run', async () => {
  const { connect } = startWorker();
  const leaver: { leave?: () => void } = {};
  const page = [
    pageTools([odd(() => (leaver.leave!(), forever()))]),
    pageHooks([
      {
        on: {
          'post-reasoning': ({ message, ...event }) => ({
            ...event,
            message: { ...message, id: 'hooked' },
          }),
        },
      },
    ]),
  ];
  const leaving = connect({ replies: calls('odd') }, { page });
  leaver.leave = () => leaving.close();
  const agent = connect();
  expect(await agent.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ name: 'odd', kind: 'suspended' }],
  });
  expect((await agent.messages()).at(-1)?.id).toBe('hooked');
  const [{ toolUseId }] = (await agent.pending()) as readonly [PendingCall];
  await agent.decide({ toolUseId, type: 'result', output: 'by hand' });
  expect((await agent.messages()).at(-1)?.id).not.toBe('hooked');
});

test('the priority of a page hook is that of its handlers', async () => {
  const told: string[] = [];
  const note = (name: string) => () => void told.push(name);
  const part = pageHooks([
    { name: 'usual', on: { 'post-call': note('usual') } },
    {
      name: 'early',
      priority: 1,
      on: { '*': ({ type }) => void (type === 'post-call' && told.push('early')) },
    },
    { name: 'first', priority: 0, on: { 'post-call': note('first') } },
    { name: 'late', priority: 0, on: { 'post-call': { handle: note('late'), priority: 200 } } },
  ]);
  await startWorker()
    .connect({ replies: ['one'] }, { page: [part] })
    .call('go');
  expect(told).toEqual(['first', 'early', 'usual', 'late']);
});

test('page hooks receive events, change modifiable events, and reject tool calls', async () => {
  const told: string[] = [];
  const part = pageHooks([
    {
      name: 'told',
      on: {
        'reasoning-chunk': ({ delta }) => void told.push(delta),
        'run-end': () => void told.push('end'),
      },
    },
    {
      name: 'edit',
      on: {
        'post-reasoning': (event) => ({
          ...event,
          message: {
            ...event.message,
            content: [{ type: 'text', text: textOf(event.message).toUpperCase() }],
          },
        }),
      },
    },
  ]);
  const agent = startWorker().connect({ replies: ['one two'] }, { page: [part] });
  expect((await agent.call('go')).text).toBe('ONE TWO');
  expect(told).toEqual(['one ', 'two', 'end']);
  const refusing = pageHooks([{ on: { 'pre-acting': ({ reject }) => reject('not now') } }]);
  const other = startWorker().connect({ replies: calls('here') }, { page: [refusing] });
  await other.call('go');
  expect(results(await other.messages())).toEqual([expect.stringContaining('not now')]);
});

test.for([
  [
    'throws',
    () => {
      throw new Error('boom');
    },
    /Hook "bad" failed on the page at pre-reasoning: boom/,
  ],
  [
    'writes to its event',
    (event: object) => {
      (event as { seq: number }).seq = 0;
    },
    /failed on the page at pre-reasoning/,
  ],
  [
    'returns an event that cannot be cloned',
    (event: object) => ({ ...event, f: () => {} }),
    /could not be cloned/,
  ],
  ['never answers', forever, /did not answer within 20 ms/],
] as const)(
  'a page hook that %s fails the call, unless its onError is ignore',
  async ([, handler, message]) => {
    const bad = { name: 'bad', on: { 'pre-reasoning': handler as () => undefined } };
    const options = handler === forever ? { timeoutMs: 20 } : {};
    const agent = startWorker().connect(
      { replies: ['fine'] },
      { page: [pageHooks([bad], options)] },
    );
    await expect(agent.call('go')).rejects.toMatchObject({
      message: expect.stringMatching(message),
    });
    const ignored = pageHooks([{ ...bad, onError: 'ignore' }], options);
    expect(
      (
        await startWorker()
          .connect({ replies: ['fine'] }, { page: [ignored] })
          .call('go')
      ).text,
    ).toBe('fine');
  },
);

test('a page hook that fails at a chunk fails the call at the hook’s next event', async () => {
  const part = pageHooks([
    {
      name: 'bad',
      on: {
        'reasoning-chunk': () => {
          throw new Error('boom');
        },
        'post-reasoning': () => {},
      },
    },
  ]);
  const agent = startWorker().connect({ replies: ['fine'] }, { page: [part] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'bad', event: 'reasoning-chunk' },
  });
});

test('a page hook can use an event’s controls; errors keep their code, and a control fails at events without that control', async () => {
  const part = (on: object, onError?: 'ignore') =>
    pageHooks([{ name: 'page', on: on as never, ...(onError && { onError }) }]);
  const at = (type: string, name: 'stop' | 'reject', ...given: unknown[]) => ({
    [type]: (event: Record<string, (...given: unknown[]) => void>) => event[name]!(...given),
  });
  const { connect } = startWorker();
  for (const type of ['run-start', 'pre-call']) {
    const agent = connect({}, { sessionId: type, page: [part(at(type, 'reject', 'No.'))] });
    const rejected = { reason: 'rejected', text: 'No.', error: { code: 'HOOK_REJECTED' } };
    expect(await agent.call('go')).toMatchObject(rejected);
    expect(await agent.call('go', { throwOnError: false })).toMatchObject(rejected);
    expect(await agent.messages()).toEqual([]);
  }
  const wrong: readonly [PageFixtureOptions, object][] = [
    [{}, at('post-call', 'stop')],
    [{}, at('*', 'stop')],
    [
      { replies: calls('title', { text: 'five' }) },
      { ...at('acting-chunk', 'stop'), 'post-call': () => {} },
    ],
  ];
  for (const [index, [options, on]] of wrong.entries()) {
    const page = [part(on, 'ignore'), pageTools([title])];
    const agent = connect(options, { sessionId: `wrong-${index}`, page });
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(/^Hook "page": There is no control `stop` at /),
      details: { hook: 'page', control: 'stop' },
    });
  }
  const delta = { ...at('reasoning-chunk', 'stop'), 'post-call': () => {} };
  const agent = connect({}, { sessionId: 'delta', page: [part(delta)] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'page', event: 'reasoning-chunk' },
  });
});

test('a page hook of all events runs after its handler of one type, and narrows to the controls of a type', async () => {
  const told: string[] = [];
  const part = pageHooks([
    {
      on: {
        '*'(event, run) {
          told.push(`* ${event.type} ${String(run)}`);
          if (event.type === 'post-reasoning') event.jumpTo('end', 'From the page.');
        },
        'post-reasoning'(event) {
          told.push(`one ${event.type} ${'stop' in { ...event }}`);
          return { ...event, message: { ...event.message, id: 'hooked' } };
        },
        'pre-call': { priority: 200, handle: ({ type }) => void told.push(`one ${type}`) },
      },
    },
  ]);
  const agent = startWorker().connect({ replies: ['one'] }, { page: [part] });
  expect((await agent.call('go')).text).toBe('From the page.');
  expect((await agent.messages()).map(({ id }) => id)).toContain('hooked');
  expect(told.filter((line) => /pre-call|post-reasoning/.test(line))).toEqual([
    '* pre-call undefined',
    'one pre-call',
    'one post-reasoning false',
    '* post-reasoning undefined',
  ]);
});

test('a control that a page hook calls too late throws on the page', async () => {
  let late: Promise<unknown> | undefined;
  const part = pageHooks([
    {
      on: {
        'pre-call': ({ stop }) => {
          late = new Promise((resolve) => setTimeout(resolve))
            .then(stop)
            .catch((error: unknown) => error);
        },
      },
    },
  ]);
  const agent = startWorker().connect({}, { page: [part] });
  expect((await agent.call('go')).reason).toBe('stop');
  expect(await late).toMatchObject({ code: 'CONFIGURATION' });
});

test('a page approves, edits and rejects tool calls; without a decision or pageApprovals() the call is suspended', async () => {
  const verdicts = [
    { type: 'approve' },
    { type: 'edit', input: { text: 'two' } },
    { type: 'reject', reason: 'too bold' },
    undefined,
  ] as const;
  const asked: string[] = [];
  let next = 0;
  const decide = pageApprovals(({ name }, { messages }) => {
    asked.push(`${name} ${messages.length}`);
    return verdicts[next++];
  });
  const { connect } = startWorker();
  const call = { toolCalls: [{ name: 'title', input: { text: 'one' } }] };
  const agent = connect(
    { replies: [call, 'a', call, 'b', call, 'c', call, 'd'], needsApproval: ['title'] },
    { page: [pageTools([title]), decide] },
  );
  await agent.call('1');
  expect(document.title).toBe('one');
  await agent.call('2');
  expect(document.title).toBe('two');
  const edited = (await agent.messages()).flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_use' ? [block.input] : [])),
  );
  expect(edited).toEqual([{ text: 'one' }, { text: 'two' }]);
  await agent.call('3');
  expect(results(await agent.messages()).at(-1)).toContain('too bold');
  expect(await agent.call('4')).toMatchObject({
    reason: 'suspended',
    pending: [{ kind: 'approval', name: 'title' }],
  });
  expect(asked.length).toBe(4);
  const [{ toolUseId }] = (await agent.pending()) as readonly [PendingCall];
  await expect(agent.decide({ toolUseId: 'other', type: 'approve' })).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  expect((await agent.decide({ toolUseId, type: 'reject' })).text).toBe('d');
  const alone = connect(
    { replies: [call], needsApproval: ['title'] },
    { sessionId: 'alone', page: [pageTools([title])] },
  );
  expect(await alone.call('go')).toMatchObject({ reason: 'suspended' });
});

test('a chat shows the arguments that the page edited, not the arguments of the model', async () => {
  const agent = startWorker().connect(
    { replies: calls('here', { at: 'sea' }), needsApproval: ['here'] },
    { page: [pageApprovals(() => ({ type: 'edit', input: { at: 'lake' } }))] },
  );
  const stream = await agent.chatTransport().sendMessages({
    trigger: 'submit-message',
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Where?' }] }],
    abortSignal: undefined,
  });
  let shown: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) shown = message;
  expect(shown!.parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
    { state: 'output-available', input: { at: 'lake' } },
  ]);
});

test('a message to a busy agent passes the agent’s guards first, and a rejection keeps its code', async () => {
  const { worker, connect } = startWorker();
  const agent = connect({ replies: ['one', 'two'], gated: true, guarded: true });
  const first = agent.call('first');
  const rejected = { code: 'GUARD_REJECTED', message: 'Not here.', details: { text: 'bad' } };
  expect(await agent.call('bad')).toMatchObject({ reason: 'rejected', error: rejected });
  const second = agent.call('long story');
  expect(await agent.interrupt({ mode: 'inject', messages: 'bad' })).toBe(true);
  expect(await agent.interrupt({ mode: 'inject', messages: 'more' })).toBe(true);
  worker.postMessage({ open: true });
  const ends = await Promise.all([first, second]);
  expect(ends.map(({ text }) => text)).toEqual(['two', 'two']);
  const texts = (await agent.messages()).map(textOf);
  expect(texts).toEqual(['first', 'one', 'short', 'more', 'two']);
});

test('when a page leaves before its decision, the call is suspended, and another page decides it after a restart', async () => {
  const database = `approval-${crypto.randomUUID()}`;
  const first = startWorker();
  const replies = calls('title', { text: 'x' });
  const leaver: { leave?: () => void } = {};
  const leaving = first.connect(
    { replies, needsApproval: ['title'], database },
    { page: [pageTools([title]), pageApprovals(() => (leaver.leave!(), forever()))] },
  );
  leaver.leave = () => leaving.close();
  const stays = first.connect();
  expect(await stays.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ kind: 'approval' }],
  });
  first.worker.terminate();
  const agent = startWorker().connect(
    { replies: ['done'], needsApproval: ['title'], database },
    { page: [pageTools([title])] },
  );
  const [{ toolUseId }] = (await agent.pending()) as readonly [PendingCall];
  expect((await agent.decide({ toolUseId, type: 'approve' })).text).toBe('done');
  expect(document.title).toBe('x');
});

test('a page tool’s own needsApproval() is called on the page', async () => {
  const careful = {
    ...title,
    needsApproval: (input: unknown) => (input as { text: string }).text === 'bad',
  };
  const agent = startWorker().connect(
    {
      replies: [
        {
          toolCalls: [
            { name: 'title', input: { text: 'good' } },
            { name: 'title', input: { text: 'bad' } },
          ],
        },
        'done',
      ],
    },
    { page: [pageTools([careful])] },
  );
  expect(await agent.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ input: { text: 'bad' } }],
  });
});

test('resume() continues from the log after a pause', async () => {
  const agent = startWorker().connect({ replies: [{ text: 'one ', hang: true }, 'two'] });
  const stream = agent.stream('go');
  for await (const event of stream)
    if (event.type === 'reasoning-chunk') await agent.interrupt({ mode: 'pause' });
  expect((await stream.result).reason).toBe('suspended');
  expect((await agent.resume()).text).toBe('two');
});

test('pageModel() calls tools by text, can be aborted, keeps error codes, and fails when its page leaves', async () => {
  const rateLimited = new AgentError('MODEL_RATE_LIMITED', 'slow down', {
    details: { retryAfterMs: 9 },
  });
  const replies = [
    '{"think": "", "tool_name": "here", "arguments": {}}',
    'In the worker.',
    { text: 'one ', error: rateLimited },
    { text: 'one two', hang: true },
    { hang: true },
  ];
  const model = new ScriptedModel(replies, { features: { tools: false } });
  const { connect } = startWorker();
  await expect(
    connect({}, { agent: 'browser', sessionId: 'none' }).call('go'),
  ).rejects.toMatchObject({ code: 'CONFIGURATION' });
  const agent = connect({}, { agent: 'browser', page: [pageModel(model)] });
  const other = connect({}, { agent: 'browser' });
  expect(await agent.call('where?')).toMatchObject({ text: 'In the worker.', toolsUsed: ['here'] });
  await expect(agent.call('more')).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    details: { retryAfterMs: 9 },
  });
  const stream = agent.stream('count');
  for await (const event of stream) if (event.type === 'reasoning-chunk') break;
  expect((await stream.result).reason).toBe('aborted');
  const call = other.call('and now?');
  await expect.poll(() => model.requests.length).toBe(5);
  agent.close();
  await expect(call).rejects.toMatchObject({ code: 'MODEL_UNREACHABLE', retryable: true });
});

test('when the reader of a run stops, the worker stops reading the page’s model', async () => {
  const model = new ScriptedModel([
    Array.from({ length: 1000 }, (_, index) => `w${index} `).join(''),
  ]);
  const agent = startWorker().connect({}, { agent: 'browser', page: [pageModel(model)] });
  const batches = agent.stream('go').batches()[Symbol.asyncIterator]();
  await batches.next();
  await agent.pending();
  expect(model.reads).toBeLessThanOrEqual(initialCredits + 1);
  await batches.return?.();
});

test('an unknown agent name fails with CONFIGURATION', async () => {
  const { connect } = startWorker();
  await expect(connect({}, { agent: 'nobody' }).call('go')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: 'The worker has no agent "nobody": main, browser.',
  });
  await expect(connect({}, { agent: 'toString' }).messages()).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
});

test('pending calls fail when their worker hangs in an endless loop; an idle worker is not reported', async () => {
  const clock = fakeClock();
  const { worker, connect } = startWorker();
  const agent = connect({ replies: [{ hang: true }] }, { timeoutMs: 10_000 });
  await agent.messages();
  clock.advanceSync(60_000);
  const call = agent.call('go');
  for (let quarter = 0; quarter < 12; quarter++) {
    clock.advanceSync(2500);
    await agent.messages();
  }
  worker.postMessage({ spin: true });
  clock.advanceSync(12_500);
  await expect(call).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: 'The worker did not answer in 10000 ms.',
  });
  await expect(agent.messages()).rejects.toMatchObject({ code: 'WORKER_FAILED' });
});

test.for([
  ['two tools with the same name', () => pageTools([title, title])],
  [
    'a tool without execute',
    () => pageTools([tool({ name: 'x', description: 'x', input: { type: 'object' } })]),
  ],
  ['null instead of a tool', () => pageTools([null as never])],
] as const)('pageTools() with %s throws CONFIGURATION', ([, make]) => {
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
