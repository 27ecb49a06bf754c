import * as z from 'zod';
import { AgentError, tool, type AgentEvent, type PendingCall } from '@isoloop/core';
import { contextToken, provide } from '@isoloop/core/tool';
import { pageHooks, pageTools } from '@isoloop/web-worker';
import { expect, test } from 'vitest';
import {
  startPageWorker,
  toolOutputs,
  calls,
  forever,
  title,
} from '../../../test-support/page-under-test.ts';

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

test('a page tool runs on the page: its schema, transformed input, progress and result cross to and from the worker', async () => {
  const agent = startPageWorker().connect(
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
  expect(toolOutputs(await agent.messages())).toEqual([`${location.protocol} 2026`]);
});

test('a page tool does not run on arguments that do not fit its schema, and the model gets an error', async () => {
  let ran = 0;
  const counting = tool({
    name: 'n',
    description: 'x',
    input: z.object({ n: z.number() }),
    execute: () => (ran += 1),
  });
  const agent = startPageWorker().connect(
    { replies: calls('n', { n: 'three' }) },
    { page: [pageTools([counting])] },
  );
  await agent.call('go');
  expect(toolOutputs(await agent.messages())).toEqual([
    expect.stringContaining('The arguments of "n" do not fit its schema:\n- n: '),
  ]);
  expect(ran).toBe(0);
});

test('maps, sets and bytes in a page tool’s result reach the model as JSON', async () => {
  const value = { map: new Map([['a', new Set([1])]]), bytes: new Uint8Array([2]) };
  const agent = startPageWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([odd(() => value)])] },
  );
  await agent.call('go');
  expect(toolOutputs(await agent.messages())).toEqual(['{"map":{"a":[1]},"bytes":[2]}']);
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
  const agent = startPageWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([odd(() => ({ content: [block] }))])] },
  );
  await agent.call('go');
  expect(toolOutputs(await agent.messages())).toEqual([output]);
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
  const agent = startPageWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([given])] },
  );
  expect((await agent.call('go')).text).toBe('done');
  const [message] = toolOutputs(await agent.messages());
  if (typeof text === 'string') expect(message).toBe(text);
  else expect(message).toMatch(text);
});

test('a page tool’s TOOL_ERROR ends the call with its class, code and details', async () => {
  const fatal = odd(() => {
    throw new AgentError('TOOL_ERROR', 'no more', { details: { why: 'quota' } });
  });
  const agent = startPageWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([fatal])] },
  );
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
  const agent = startPageWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([waiting])] },
  );
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
  const agent = startPageWorker().connect({ replies: calls('odd') }, { page: [part] });
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  const [pending] = await agent.pending();
  expect(pending).toMatchObject({ name: 'odd', kind: 'suspended', reason: 'which?' });
  expect((await agent.decide({ toolUseId: pending!.toolUseId, type: 'approve' })).text).toBe(
    'done',
  );
  expect(toolOutputs(await agent.messages())).toEqual(['p1']);
});

test('a page tool can suspend its call without a reason', async () => {
  const waits = tool({
    name: 'odd',
    description: 'x',
    input: { type: 'object' },
    execute: (_input, { suspend }) => suspend(),
  });
  const agent = startPageWorker().connect(
    { replies: calls('odd') },
    { page: [pageTools([waits])] },
  );
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  const [pending] = await agent.pending();
  expect(pending).toMatchObject({ name: 'odd', kind: 'suspended' });
  expect(pending!.reason).toBeUndefined();
});

test('the first page with a tool runs it, and after that page has left the next one; without a page the call is suspended', async () => {
  const { connect } = startPageWorker();
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
  expect(toolOutputs(await three.messages())).toEqual(['one', 'two', 'again']);
});

test('when a page leaves while its tool runs, the call is suspended and the page’s hooks no longer run', async () => {
  const { connect } = startPageWorker();
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

test('a page tool’s own needsApproval() is called on the page', async () => {
  const careful = {
    ...title,
    needsApproval: (input: unknown) => (input as { text: string }).text === 'bad',
  };
  const agent = startPageWorker().connect(
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
