import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { seeds } from '@test/test-extent.ts';
import { jsonMode, structured } from '@isoloop/core/output';
import {
  ReActAgent,
  type AgentOptions,
  type AgentEvent,
  type JsonValue,
  InMemoryMemory,
  assistantMessage,
  userMessage,
  textOf,
  type ChatModel,
  type ModelDelta,
} from '@isoloop/core';
import { summarizeHistory } from '@isoloop/core/context';
import { randomOf } from '@test/random-of.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { piiRule } from '../pii/pii-rule.ts';
import { eventsOf } from '@test/support/scripted-agent.ts';
import { look } from '@test/support/plain-tools.ts';
import { outputGuards, type OutputGuardOptions } from './output-guards.ts';
import { lengthRule } from './length-rule.ts';
import { replaceFindings } from './apply-rule.ts';
import type { OutputRule, Review } from './output-rule.ts';
import { regexRule } from './regex-rule.ts';

function setUp(
  replies: readonly ScriptedReply[],
  rules: readonly OutputRule[],
  options: OutputGuardOptions = {},
  more: Partial<AgentOptions> = {},
) {
  const model = new ScriptedModel(replies);
  const extensions = [outputGuards(rules, { onError: () => {}, ...options })];
  return {
    model,
    agent: new ReActAgent({ name: 'a', model, ...more, use: [...extensions, ...(more.use ?? [])] }),
  };
}

/**
 * Returns the text that a reader shows at the end, all text that the reader received, and the
 * number of resets.
 */
function read(events: readonly AgentEvent[]): { text: string; seen: string; resets: number } {
  const page = { text: '', seen: '', resets: 0 };
  for (const event of events) {
    if (event.type === 'step-reset') page.resets += 1;
    if (event.type === 'step-reset') page.text = '';
    if (
      (event.type === 'reasoning-chunk' && event.kind === 'text') ||
      event.type === 'summary-chunk'
    ) {
      page.text += event.delta;
      page.seen += event.delta;
    }
  }
  return page;
}

const text = (delta: string, id = 't'): ModelDelta => ({ type: 'text', id, delta });
const finish: ModelDelta = {
  type: 'finish',
  reason: 'stop',
  usage: { inputTokens: 3, outputTokens: 2 },
};
const secret = regexRule({ pattern: /secret-\d{4}/ });
const never = regexRule({ pattern: /forbidden/i, action: 'reject', name: 'never' });

test.each([0, 5, 64, 1000, 'all'] as const)(
  'readers never see the text that a rule replaces: lookahead %s',
  async (lookahead) => {
    const said: string[] = [];
    const { agent } = setUp(
      [
        {
          deltas: [...'Well: sec', 'ret-', '1234 and secret-99', '99.'].map((delta) => [
            text(delta),
          ]),
        },
      ],
      [secret],
      { lookahead },
      { use: [{ on: { 'reasoning-chunk': ({ delta }) => void said.push(delta) } }] },
    );
    const events = await eventsOf(agent.stream('Hi'));
    const { text: shown, seen, resets } = read(events);
    expect(shown).toBe('Well: *** and ***.');
    expect(said.join('')).toBe(seen);
    // Text has to be taken back only if the lookahead is shorter than the finding.
    expect(resets).toBe(lookahead === 0 || lookahead === 5 ? 1 : 0);
    if (!resets) expect(seen).not.toMatch(/1234|9999/);
    expect(textOf((await agent.messages())[1]!)).toBe('Well: *** and ***.');
  },
);

test.for(seeds({ quick: 50, full: 500 }))(
  'with any split into deltas, the result equals that of the whole text, and readers never see a finding: seed %i',
  async (seed) => {
    const random = randomOf(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const words = [
      'secret-1234',
      'secret-',
      '12345 ',
      'ann@example.test',
      ' 4111 1111 1111 1111 ',
      '한국어 ',
      '😀',
      'a',
      ' ',
      '\n',
      '\ud800',
      'x'.repeat(90),
    ];
    const whole = Array.from({ length: 1 + Math.floor(random() * 20) }, () => pick(words)).join('');
    const batches: ModelDelta[][] = [];
    for (let at = 0; at < whole.length;) {
      const length = 1 + Math.floor(random() * pick([2, 9, 60]));
      batches.push([text(whole.slice(at, at + length))]);
      at += length;
    }
    const rules = [piiRule({ kinds: ['email', 'card'] }), secret];
    const { agent } = setUp([{ deltas: [...batches, [finish]] }], rules, {
      lookahead: pick([64, 70, 200]),
    });
    const { text: shown, seen, resets } = read(await eventsOf(agent.stream('Hi')));
    const expected = rules.reduce(
      (said, rule) => replaceFindings(said, [...rule.find(said)]),
      whole,
    );
    expect(shown).toBe(textOf((await agent.messages())[1]!));
    expect(shown).toBe(expected);
    expect([seen, resets]).toEqual([expected, 0]);
  },
);

test('outputGuards() streams text immediately, except for the last characters within the lookahead', async () => {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  const { agent } = setUp([[{ text: 'x'.repeat(100) }, { wait, text: 'end' }]], [secret], {
    lookahead: 20,
  });
  let seen = '';
  for await (const event of agent.stream('Hi')) {
    if (event.type !== 'reasoning-chunk') continue;
    if (!seen) {
      expect(event.delta).toBe('x'.repeat(80));
      open();
    }
    seen += event.delta;
  }
  expect(seen).toBe(`${'x'.repeat(100)}end`);
});

test('an interrupted reply keeps the text that was streamed, and drops the text that was withheld', async () => {
  const { agent } = setUp(
    [{ text: 'Long enough to be given out in part, then secret-12', hang: true }],
    [secret],
    { lookahead: 12 },
  );
  let seen = '';
  for await (const event of agent.stream('Hi')) {
    if (event.type === 'reasoning-chunk') seen += event.delta;
    if (seen.length > 30) agent.interrupt();
  }
  const partial = (await agent.messages())[1]!;
  expect(partial.metadata).toMatchObject({ partial: 'interrupted' });
  expect(textOf(partial)).toMatch(/^Long enough to be given out/);
  expect(textOf(partial)).not.toContain('secret');
});

test('outputGuards() never streams half of a surrogate pair', async () => {
  const { agent } = setUp([{ deltas: [...'😀'.repeat(9)].map((pair) => [text(pair)]) }], [secret], {
    lookahead: 3,
  });
  const deltas = (await eventsOf(agent.stream('Hi'))).flatMap((event) =>
    event.type === 'reasoning-chunk' ? event.delta : [],
  );
  expect(deltas.join('')).toBe('😀'.repeat(9));
  expect(deltas.filter((delta) => !/^(?:[\ud800-\udbff][\udc00-\udfff])+$/.test(delta))).toEqual(
    [],
  );
});

test.each([64, 'all'] as const)(
  'a rejected reply ends the call with the guard’s message and stores no text: lookahead %s',
  async (lookahead) => {
    const long = `${'word '.repeat(40)}FORBIDDEN`;
    const { agent, model } = setUp(
      [{ text: long, usage: { inputTokens: 3, outputTokens: 2 } }, 'Fine.'],
      [never],
      {
        lookahead,
        locale: 'ja',
      },
    );
    const events = await eventsOf(agent.stream('Hi'));
    expect(events.at(-1)).toMatchObject({
      type: 'run-end',
      result: {
        reason: 'rejected',
        error: { code: 'GUARD_REJECTED', details: { category: 'OUTPUT_REJECTED', stage: 'never' } },
      },
    });
    expect(read(events)).toMatchObject({
      text: '表示できない内容が含まれていたため、回答を差し止めました。',
      resets: lookahead === 'all' ? 0 : 1,
    });
    expect(JSON.stringify(events)).not.toContain('FORBIDDEN');
    expect((await agent.messages()).map(textOf)).toEqual(['Hi']);
    expect(await agent.call('Again')).toMatchObject({ reason: 'stop', text: 'Fine.' });
    expect(model.requests[1]!.messages.map(textOf)).toEqual(['Hi', 'Again']);
  },
);

test('call() returns the same result as a stream, and a rejected reply counts as usage', async () => {
  const { agent } = setUp(['It is forbidden.', 'My secret-1234.'], [secret, never]);
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'My ***.' });
});

test('each rule checks the text that the previous rule returned', async () => {
  const hide = regexRule({ pattern: /forbidden/, replacement: 'hidden' });
  expect(await setUp(['forbidden'], [hide, never]).agent.call('Hi')).toMatchObject({
    text: 'hidden',
  });
  expect(await setUp(['forbidden'], [never, hide]).agent.call('Hi')).toMatchObject({
    reason: 'rejected',
  });
});

const rubbish: readonly (readonly [string, Partial<OutputRule>])[] = [
  [
    'a find that throws',
    {
      find: () => {
        throw new Error('hunter2');
      },
    },
  ],
  [
    'findings out of order',
    {
      find: () => [
        { start: 3, end: 4, replacement: '' },
        { start: 1, end: 2, replacement: '' },
      ],
    },
  ],
  ['a finding beyond the end', { find: () => [{ start: 0, end: 999, replacement: '' }] }],
  ['a finding without a place', { find: () => [{ start: Number.NaN, end: 1, replacement: '' }] }],
  ['a finding that ends before it begins', { find: () => [{ start: 2, end: 1, replacement: '' }] }],
  ['a finding without a replacement', { find: () => [{ start: 0, end: 1 } as never] }],
  [
    'a finding with a strange category',
    { find: () => [{ start: 0, end: 1, reject: 'NEW' as never }] },
  ],
  ['a find that gives no list', { find: () => 5 as never }],
  ['a review that throws', { review: () => Promise.reject(new Error('hunter2')) }],
  ['a review of nothing', { review: () => undefined as never }],
  ['a review of true', { review: () => true as never }],
  ['a review without text', { review: () => ({ text: 5 }) as never }],
];

test.each(rubbish)('%s rejects the reply with SYSTEM_ERROR', async (_what, rule) => {
  const onError = vi.fn();
  const { agent } = setUp(['One two.', 'Three.'], [{ name: 'bad', ...rule }], { onError });
  const result = await agent.call('Hi');
  expect(result).toMatchObject({
    reason: 'rejected',
    text: 'Security check failed',
    error: { details: { category: 'SYSTEM_ERROR', stage: 'bad' } },
  });
  expect(JSON.stringify(result)).not.toMatch(/hunter2|One|Three/);
  expect((await agent.messages()).map(textOf)).toEqual(['Hi']);
  expect(onError).toHaveBeenCalledWith(expect.any(Error), 'bad');
});

test('a rule that asks again about the second reply rejects it, and is not reported', async () => {
  const onError = vi.fn();
  const asked: boolean[] = [];
  const retry: OutputRule = {
    name: 'again',
    review(_said, { mayRetry }) {
      asked.push(mayRetry);
      return { retry: 'Again.' };
    },
  };
  const { agent } = setUp(['One.', 'Two.'], [retry], { onError });
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    error: { details: { category: 'OUTPUT_REJECTED', stage: 'again' } },
  });
  expect(asked).toEqual([true, false]);
  expect(onError).not.toHaveBeenCalled();
});

test('if a review changes text that was already streamed, a step-reset takes the text back', async () => {
  const upper: OutputRule = {
    name: 'upper',
    review: async (said): Promise<Review> => ({ text: said.toUpperCase() }),
  };
  const { agent } = setUp([{ thinking: 'hm', text: 'Hello there.' }], [upper], { lookahead: 0 });
  const events = await eventsOf(agent.stream('Hi'));
  expect(read(events)).toMatchObject({ text: 'HELLO THERE.', resets: 1 });
  expect((await agent.messages())[1]!.content).toEqual([
    { type: 'thinking', thinking: 'hm' },
    { type: 'text', text: 'HELLO THERE.' },
  ]);
  const held = setUp(['Hello there.'], [upper], { lookahead: 'all' });
  expect(read(await eventsOf(held.agent.stream('Hi')))).toEqual({
    text: 'HELLO THERE.',
    seen: 'HELLO THERE.',
    resets: 0,
  });
});

test('tool calls are streamed after the text before them, and replies with tool calls are guarded too', async () => {
  const leak = { ...look, execute: () => 'secret-1234' };
  const replies: ScriptedReply[] = [
    { text: 'I look at secret-1234.', toolCalls: [{ name: 'look', input: { a: 'secret-1234' } }] },
    'It is secret-1234.',
  ];
  const { agent } = setUp(replies, [secret], {}, { tools: [leak] });
  const events = await eventsOf(agent.stream('Hi'));
  const order = events.flatMap(({ type }) => (/chunk|post-acting/.test(type) ? type : []));
  expect(order).toEqual(['reasoning-chunk', 'tool-input-chunk', 'post-acting', 'reasoning-chunk']);
  const messages = await agent.messages();
  expect(messages.map(textOf)).toEqual(['Hi', 'I look at ***.', '', 'It is ***.']);
  expect(messages[1]!.content[1]).toMatchObject({ type: 'tool_use', input: { a: 'secret-1234' } });
});

test('a reply with text before and after a tool call ends with the guarded text', async () => {
  const call: ModelDelta = { type: 'tool-input', index: 0, id: 'c', name: 'look', delta: '{}' };
  const { agent } = setUp(
    [{ deltas: [[text('A secret-')], [call], [text('1234.')], [finish]] }, 'Done.'],
    [secret],
    {},
    { tools: [look] },
  );
  const events = await eventsOf(agent.stream('Hi'));
  expect(read(events).resets).toBe(1);
  const [, said] = await agent.messages();
  expect(textOf(said!)).toBe('A ***.');
  expect(said!.content).toHaveLength(2);
});

test('outputGuards() checks the summary at the limit of iterations', async () => {
  const { agent } = setUp(['It was secret-1234.'], [secret], {}, { limits: { iterations: 0 } });
  expect(read(await eventsOf(agent.stream('Hi'))).seen).toBe('It was ***.');
});

test('thinking is not checked by default; with `thinking: true`, changed thinking loses its signature', async () => {
  const thinking = (delta: string, more = {}): ModelDelta => ({
    type: 'thinking',
    id: 'k',
    delta,
    ...more,
  });
  const reply: ScriptedReply = {
    deltas: [
      [thinking('I know secret-1234.')],
      [thinking('', { signature: 'sig' })],
      [text('Hello.')],
      [finish],
    ],
  };
  const plain = setUp([reply], [secret]);
  await plain.agent.call('Hi');
  expect((await plain.agent.messages())[1]!.content[0]).toEqual({
    type: 'thinking',
    thinking: 'I know secret-1234.',
    signature: 'sig',
  });
  const looked = setUp(
    [reply, { deltas: [[thinking('Nothing.', { signature: 'sig' })], [text('Hi.')]] }],
    [secret],
    { thinking: true },
  );
  expect(JSON.stringify(await eventsOf(looked.agent.stream('Hi')))).not.toContain('1234');
  await looked.agent.call('Hi');
  const messages = await looked.agent.messages();
  expect(messages[1]!.content).toEqual([
    { type: 'thinking', thinking: 'I know ***.' },
    { type: 'text', text: 'Hello.' },
  ]);
  expect(messages[3]!.content[0]).toEqual({
    type: 'thinking',
    thinking: 'Nothing.',
    signature: 'sig',
  });
});

test('if the model restarts its reply, the guards restart too', async () => {
  const reset: ModelDelta = { type: 'reset', reason: 'retry' };
  const { agent } = setUp(
    [{ deltas: [[text('forbid')], [reset, text('den fruit is')], [text(' fine')], [finish]] }],
    [never],
  );
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'den fruit is fine' });
});

test('a model failure rejects with the model’s error, and text that was withheld is dropped', async () => {
  const { agent } = setUp([{ text: 'Half a ', error: new Error('broken') }], [secret]);
  await expect(agent.call('Hi')).rejects.toMatchObject({ message: 'broken' });
});

test('several text blocks stay separate and keep their order', async () => {
  const { agent } = setUp(
    [{ deltas: [[text('One secret-', 'a')], [text('Two.', 'b')], [text('1234', 'a')], [finish]] }],
    [secret],
  );
  await agent.call('Hi');
  expect((await agent.messages())[1]!.content).toEqual([
    { type: 'text', text: 'One ***' },
    { type: 'text', text: 'Two.' },
  ]);
});

test('lengthRule() shortens a long reply and adds a mark, and readers never see the rest', async () => {
  const { agent } = setUp(
    [`${'x'.repeat(84)}😀${'x'.repeat(20)}`.replaceAll('', '\u200b').replaceAll('\u200b', '')],
    [lengthRule({ max: 101 })],
    { lookahead: 0 },
  );
  const events = await eventsOf(agent.stream('Hi'));
  const expected = `${'x'.repeat(84)}\n\n[Cut off here]`;
  expect(read(events)).toEqual({ text: expected, seen: expected, resets: 0 });
  expect(textOf((await agent.messages())[1]!)).toBe(expected);
  expect(await setUp(['12345'], [lengthRule({ max: 5 })]).agent.call('Hi')).toMatchObject({
    text: '12345',
  });
  expect(
    await setUp(['123456'], [lengthRule({ max: 5, mark: '…' })]).agent.call('Hi'),
  ).toMatchObject({ text: '1234…' });
  expect(await setUp(['123456'], [lengthRule({ max: 5 })]).agent.call('Hi')).toMatchObject({
    text: '12345',
  });
});

test('a reply shorter than `min` causes a warning, a second attempt or a rejection, as `mode` says', async () => {
  const warned = setUp(['Yes.'], [lengthRule({ min: 10 })]);
  expect(await warned.agent.call('Hi')).toMatchObject({
    text: 'Yes.',
    message: {
      metadata: { finishReason: 'stop', warnings: [{ stage: 'lengthRule', length: 4, min: 10 }] },
    },
  });

  const again = setUp(['Yes.', 'Yes, of course.'], [lengthRule({ min: 10, tooShort: 'retry' })], {
    lookahead: 0,
  });
  const events = await eventsOf(again.agent.stream('Hi'));
  expect(read(events)).toEqual({ text: 'Yes, of course.', seen: 'Yes.Yes, of course.', resets: 1 });
  expect(events.at(-1)).toMatchObject({
    result: { reason: 'stop', iterations: 1, usage: { inputTokens: 20, outputTokens: 10 } },
  });
  expect(again.model.requests[1]!.messages.map(textOf)).toEqual([
    'Hi',
    'Yes.',
    'Your answer has 4 characters; at least 10 are needed. Answer again, in more detail.',
  ]);
  expect((await again.agent.messages()).map(textOf)).toEqual(['Hi', 'Yes, of course.']);

  const twice = setUp(['Yes.', 'No.'], [lengthRule({ min: 10, tooShort: 'retry' })]);
  expect(await twice.agent.call('Hi')).toMatchObject({
    text: 'No.',
    message: { metadata: { warnings: [{ length: 3 }] } },
  });
  twice.model.assertDone();

  const failed = setUp(['Yes.'], [lengthRule({ min: 10, tooShort: 'reject' })], { lookahead: 0 });
  expect(await failed.agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    error: { details: { category: 'OUTPUT_TOO_SHORT', length: 4, min: 10 } },
  });
  expect((await failed.agent.messages()).map(textOf)).toEqual(['Hi']);
});

test('the minimum length does not apply to a reply with tool calls', async () => {
  const { agent } = setUp(
    [{ toolCalls: [{ name: 'look' }] }, 'It is all right.'],
    [lengthRule({ min: 5, tooShort: 'reject' })],
    {},
    { tools: [look] },
  );
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'It is all right.' });
});

test('outputGuards() checks a structured value in text before the text is parsed', async () => {
  const { agent } = setUp(['{"code":"secret-1234"}'], [secret]);
  const schema = { type: 'object', properties: { code: { type: 'string' } } } as const;
  expect(await agent.call('Hi', { output: structured(schema, { mode: 'prompt' }) })).toMatchObject({
    output: { code: '***' },
  });
});

test('masking a number in a JSON text keeps the JSON valid', async () => {
  const { agent } = setUp(['{"card": 4111111111111111, "to": "ann@example.com"}'], [piiRule()]);
  const result = await agent.call('Hi', { output: jsonMode() });
  expect(result.output).toEqual({ card: '[CARD]', to: '[EMAIL]' });
});

test.each([
  [
    'by a tool',
    structured(z.object({ word: z.string() })),
    { toolCalls: [{ name: 'generate_response', input: { word: 'x'.repeat(50) } }] },
  ],
  ['by JSON text', jsonMode(), `{"word":"${'x'.repeat(50)}"}`],
])(
  'lengthRule() rejects a structured value that is too long, instead of cutting it: %s',
  async (_, output, reply) => {
    const seen: unknown[] = [];
    const { agent } = setUp(
      [reply],
      [lengthRule({ max: 20, onViolation: (violation) => seen.push(violation) })],
    );
    const result = await agent.call('Hi', { output });
    const details = { category: 'OUTPUT_REJECTED', stage: 'lengthRule', length: 61, max: 20 };
    expect(result).toMatchObject({
      reason: 'rejected',
      error: { code: 'GUARD_REJECTED', details },
    });
    expect(seen).toMatchObject([{ rule: 'max', value: 61, limit: 20 }]);
    const fits = setUp(['{"a":1}'], [lengthRule({ max: 20 })]);
    expect((await fits.agent.call('Hi', { output: jsonMode() })).output).toEqual({ a: 1 });
  },
);

test('no output rule applies to a summary of the history, which only the model sees', async () => {
  const history = Array.from({ length: 6 }, (_, n) => [
    userMessage(`q${n} ${'word '.repeat(60)}`),
    assistantMessage(`a${n}`),
  ]).flat();
  const model = new ScriptedModel([
    'A forbidden summary.',
    'A long enough answer.',
    'Another forbidden answer.',
  ]);
  const context = summarizeHistory({ window: 500, reserveOutput: 50, summaryTokens: 50 });
  const extensions = [outputGuards([never, lengthRule({ min: 21, tooShort: 'reject' })])];
  const agent = new ReActAgent({
    name: 'a',
    model,
    use: [context, ...extensions],

    memory: new InMemoryMemory(history),
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'A long enough answer.' });
  expect(model.requests[1]!.messages.map(textOf).join()).toContain('A forbidden summary.');
  expect(await agent.call('Hi')).toMatchObject({ reason: 'rejected' });
});

test('outputGuards() stops reading a reply that is rejected while it streams', async () => {
  const { agent, model } = setUp([`A forbidden word. ${'more '.repeat(200)}`], [never], {
    lookahead: 16,
  });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'rejected' });
  expect(model.reads).toBeLessThan(20);
});

test('a rule also gets the text before the lookahead window', async () => {
  const behind = regexRule({ pattern: /(?<=number )\d{4}(?!\d)/, replacement: '#' });
  const whole = 'The number 1234, a number 99999, and number 5678.';
  const { agent } = setUp([{ deltas: [...whole].map((char) => [text(char)]) }], [behind], {
    lookahead: 6,
  });
  expect(read(await eventsOf(agent.stream('Hi')))).toEqual({
    text: whole.replace('1234', '#').replace('5678', '#'),
    seen: expect.any(String),
    resets: 0,
  });
});

test('an empty match is not masked but can reject, and the flags of the pattern do not matter', async () => {
  expect(await setUp(['abc'], [regexRule({ pattern: /x?/gy })]).agent.call('Hi')).toMatchObject({
    text: 'abc',
  });
  expect(await setUp(['a b b'], [regexRule({ pattern: /b/y })]).agent.call('Hi')).toMatchObject({
    text: 'a *** ***',
  });
  expect(
    await setUp(['abc'], [regexRule({ pattern: /$/, action: 'reject' })]).agent.call('Hi'),
  ).toMatchObject({ reason: 'rejected' });
});

test('blocks keep their order, although text is withheld and thinking is not', async () => {
  const deltas: ModelDelta[][] = [
    [text('Held.')],
    [{ type: 'thinking', id: 'k', delta: 'Passes.' }],
    [finish],
  ];
  const { agent } = setUp([{ deltas }], [secret]);
  await agent.call('Hi');
  expect((await agent.messages())[1]!.content.map(({ type }) => type)).toEqual([
    'text',
    'thinking',
  ]);
});

test('unchanged text keeps its provider data, changed text loses it, and the message keeps its metadata', async () => {
  const tied = (said: string): ScriptedReply => ({
    deltas: [
      [{ type: 'text', id: 't', delta: said, providerMetadata: { a: 1 } }],
      [{ ...finish, metadata: { model: 'x' } } as ModelDelta],
    ],
  });
  const { agent } = setUp([tied('Fine.'), tied('secret-1234')], [secret, lengthRule({ min: 99 })]);
  await agent.call('Hi');
  await agent.call('Hi');
  const [, own, , changed] = await agent.messages();
  expect(own!.content).toEqual([{ type: 'text', text: 'Fine.', providerMetadata: { a: 1 } }]);
  expect(changed!.content).toEqual([{ type: 'text', text: '***' }]);
  expect(own!.metadata).toMatchObject({ model: 'x', warnings: [{ min: 99 }] });
});

test('if a reply restarts, length and rules apply only to the new text', async () => {
  const reset: ModelDelta = { type: 'reset', reason: 'retry' };
  const call: ModelDelta = { type: 'tool-input', index: 0, id: 'c', name: 'gone', delta: '{}' };
  const { agent } = setUp(
    [
      { deltas: [[text('12345678'), call], [reset], [text('short')], [finish]] },
      { deltas: [[text('x'.repeat(90))], [reset], [text('forbidden')], [finish]] },
    ],
    [never, lengthRule({ min: 6, max: 9, tooShort: 'reject' })],
    { lookahead: 4 },
  );
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    error: { details: { category: 'OUTPUT_TOO_SHORT' } },
  });
  expect(read(await eventsOf(agent.stream('Hi'))).resets).toBe(1);
  const upper: OutputRule = { name: 'upper', review: (said) => ({ text: said.toUpperCase() }) };
  const changed = setUp(
    [{ deltas: [[text('gone'), call], [reset], [text('short and long')], [finish]] }],
    [upper],
    { lookahead: 0 },
  );
  expect(await changed.agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'SHORT AND LONG' });
});

test('a review can add text to an empty reply and can merge several text blocks', async () => {
  const say: OutputRule = { name: 'say', review: () => ({ text: 'Said.' }) };
  const { agent } = setUp(
    [{ deltas: [[finish]] }, { deltas: [[text('One.', 'a')], [text('Two.', 'b')], [finish]] }],
    [say],
  );
  expect(await agent.call('Hi')).toMatchObject({ text: 'Said.' });
  expect((await agent.call('Hi')).message.content).toEqual([{ type: 'text', text: 'Said.' }]);
});

test('an empty reply is retried, and both replies count as usage even if the second is rejected', async () => {
  const { agent, model } = setUp(
    [{ deltas: [[finish]] }, { deltas: [[text('forbidden')], [finish]] }],
    [never, lengthRule({ min: 1, tooShort: 'retry' })],
  );
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    usage: { inputTokens: 6, outputTokens: 4 },
  });
  expect(model.requests[1]!.messages.map(({ role }) => role)).toEqual(['user', 'user']);
});

test('the model that outputGuards() returns keeps the provider, id and features of the wrapped model', () => {
  const model = new ScriptedModel([], { modelId: 'm' });
  const wrapped = outputGuards([]).wrapModel!(model) as ChatModel;
  expect([wrapped.provider, wrapped.modelId, wrapped.features]).toEqual([
    model.provider,
    model.modelId,
    { ...model.features, guarded: true },
  ]);
});

test('the number of searches in a reply of single-character deltas is bounded', async () => {
  let searched = 0;
  const count: OutputRule = { name: 'count', find: (said) => ((searched += said.length), []) };
  const long = 'x'.repeat(20_000);
  for (const lookahead of [0, 16, 1000]) {
    searched = 0;
    await setUp([{ deltas: [...long].map((char) => [text(char)]) }], [count], {
      lookahead,
    }).agent.call('Hi');
    expect(searched).toBeLessThan(80 * long.length);
  }
  // This rule’s finding covers the whole text, so it grows with each delta.
  const all: OutputRule = {
    name: 'all',
    find: (said) => ((searched += said.length), [{ start: 0, end: said.length, replacement: '#' }]),
  };
  searched = 0;
  const { agent } = setUp([{ deltas: [...long].map((char) => [text(char)]) }], [all], {
    lookahead: 16,
  });
  expect(await agent.call('Hi')).toMatchObject({ text: '#' });
  expect(searched).toBeLessThan(10 * long.length);
});

test('a rule decides with `withheldFrom` which text is withheld, and an invalid result of it rejects the reply', async () => {
  const held = (withheldFrom: unknown): OutputRule =>
    ({ name: 'held', find: () => [], withheldFrom }) as unknown as OutputRule;
  const deltas = [[text('one ')], [text('two ')], [text('three')]];
  const said: string[] = [];
  const { agent } = setUp([{ deltas }], [held((whole: string) => whole.lastIndexOf(' ') + 1)]);
  for await (const event of agent.stream('Hi'))
    if (event.type === 'reasoning-chunk') said.push(event.delta);
  expect(said).toEqual(['one ', 'two ', 'three']);
  for (const wrong of [
    () => 'x',
    () => NaN,
    () => 1000,
    () => {
      throw new Error('no');
    },
  ]) {
    const wronged = setUp([{ deltas }], [held(wrong)]);
    expect(await wronged.agent.call('Hi')).toMatchObject({ reason: 'rejected' });
  }
  expect(() => outputGuards([held(5)])).toThrow('withheldFrom');
});

test.each<[string, () => unknown]>([
  ['outputGuards(): rules', () => outputGuards('x' as never)],
  ['A rule of outputGuards(): name', () => outputGuards([{} as never])],
  ['The rule "x" needs', () => outputGuards([{ name: 'x' }])],
  ['outputGuards(): lookahead', () => outputGuards([], { lookahead: -1 })],
  ['outputGuards(): thinking', () => outputGuards([], { thinking: 'yes' as never })],
  ['regexRule(): pattern', () => regexRule({ pattern: 'x' as never })],
  ['regexRule(): action', () => regexRule({ pattern: /x/, action: 'drop' as never })],
  ['lengthRule(): tooShort', () => lengthRule({ tooShort: 'x' as never })],
  ['lengthRule(): min 6', () => lengthRule({ min: 6, max: 5 })],
])('a CONFIGURATION error names the invalid option: %s', (message, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message) as string,
    }),
  );
});

const schema = z.object({ mail: z.string(), card: z.union([z.number(), z.string()]).optional() });
const person = structured(schema);
const says = (input: JsonValue | string) => ({ toolCalls: [{ name: 'generate_response', input }] });

test('a structured value in the arguments of the output tool is guarded like an answer', async () => {
  const { agent } = setUp(
    [says('{ "mail": "ann\\u0040example.com", "card": 4111111111111111 }')],
    [piiRule()],
  );
  const stream = agent.stream('Hi', { output: person });
  const seen: string[] = [];
  for await (const event of stream) seen.push(JSON.stringify(event));
  const result = await stream.result;
  expect(result.output).toEqual({ mail: '[EMAIL]', card: '[CARD]' });
  expect(JSON.parse(result.text)).toEqual(result.output);
  expect(JSON.stringify([seen, await agent.messages()])).not.toMatch(/ann.{1,6}example|4111/);
});

test('a structured value is rejected, reviewed and retried like an answer', async () => {
  const rejected = setUp([says({ mail: 'a "forbidden" word' })], [never]);
  expect(await rejected.agent.call('Hi', { output: person })).toMatchObject({
    reason: 'rejected',
    error: { details: { stage: 'never' } },
  });
  expect(JSON.stringify(await rejected.agent.messages())).not.toContain('forbidden');

  const again = setUp(
    [says({ mail: 'a' }), says({ mail: 'a longer one' })],
    [lengthRule({ min: 20, tooShort: 'retry' })],
  );
  expect((await again.agent.call('Hi', { output: person })).output).toEqual({
    mail: 'a longer one',
  });
  expect(again.model.requests[1]!.messages.map(textOf)[1]).toBe('{"mail":"a"}');

  const changed = setUp(
    [says({ mail: 'a' })],
    [{ name: 'r', review: (said) => ({ text: said.replace('"a"', '"b"') }) }],
  );
  expect((await changed.agent.call('Hi', { output: person })).output).toEqual({ mail: 'b' });
});

test('unchanged arguments of the output tool keep their exact text, and other tool calls are not checked', async () => {
  const given = '{"mail" :"x\\u0021", "card":1.50e+1}';
  const late: ModelDelta[] = [
    { type: 'tool-input', index: 0, id: 'c1', delta: '{"to":' },
    { type: 'tool-input', index: 1, id: 'c2', delta: given.slice(0, 9) },
    { type: 'tool-input', index: 0, name: 'send', delta: '"ann@example.com"}' },
    { type: 'tool-input', index: 1, name: 'generate_response', delta: given.slice(9) },
  ];
  const next = new ScriptedModel([{ deltas: [late, [finish]] }]);
  const deltas: ModelDelta[] = [];
  const model: ChatModel = outputGuards([piiRule()]).wrapModel!(next);
  for await (const batch of model.stream(
    { messages: [], tools: [] },
    { signal: new AbortController().signal },
  ))
    deltas.push(...batch);
  expect(
    deltas.map((delta) => ('index' in delta ? [delta.index, delta.delta] : delta.type)),
  ).toEqual([
    [0, '{"to":'],
    [0, '"ann@example.com"}'],
    [1, given.slice(0, 9)],
    [1, given.slice(9)],
    'finish',
  ]);
});

test('rules see the characters that escape sequences in JSON text stand for', async () => {
  const said = '{ "mail": "\\u0041nn\\u0040example.com, \\uc548\\ub155", "card": 1 }';
  for (const lookahead of [0, 'all'] as const) {
    const rules = [piiRule(), regexRule({ pattern: /안녕/ })];
    const { agent } = setUp([said], rules, { lookahead });
    const result = await agent.call('Hi', { output: jsonMode(schema) });
    expect([result.output, result.text]).toEqual([
      { mail: '[EMAIL], ***', card: 1 },
      '{"mail":"[EMAIL], ***","card":1}',
    ]);
  }
  const rejected = setUp(['{ "mail": "\\u0066orbidden" }'], [never]);
  expect(await rejected.agent.call('Hi', { output: jsonMode(schema) })).toMatchObject({
    reason: 'rejected',
  });
});

test('`onAction` and `onViolation` report what each rule did, and a callback that throws changes nothing', async () => {
  const told: unknown[] = [];
  const listen = (what: unknown): void => {
    told.push(what);
    throw new Error('full');
  };
  const rules = [
    secret,
    never,
    lengthRule({ min: 8, max: 30, tooShort: 'retry', onViolation: listen }),
  ];
  const replies = [
    'Short',
    'secret-1234 and secret-9999 are not for anybody',
    'A word that is forbidden.',
    'Short',
    'Brief',
    'Long enough.',
  ];
  const { agent } = setUp(replies, rules, { onAction: listen });
  expect((await agent.call('Hi')).text).toMatch(/Cut off here/);
  const { sessionId } = agent;
  const run = { runId: expect.any(String), sessionId, agentPath: ['a'] };
  expect(told).toEqual([
    { rule: 'min', value: 5, limit: 8, run },
    { rule: 'lengthRule', action: 'retried', run },
    { rule: 'regexRule', action: 'changed', run },
    { rule: 'max', value: 31, limit: 30, run },
    { rule: 'lengthRule', action: 'changed', run },
  ]);
  told.length = 0;
  expect(await agent.call('Hi')).toMatchObject({ reason: 'rejected' });
  expect(told).toEqual([{ rule: 'never', action: 'rejected', run }]);
  told.length = 0;
  expect((await agent.call('Hi')).text).toBe('Brief');
  expect(told.at(-1)).toEqual({ rule: 'lengthRule', action: 'warned', run });
  told.length = 0;
  expect((await agent.call('Hi')).text).toBe('Long enough.');
  expect(told).toEqual([]);
});
