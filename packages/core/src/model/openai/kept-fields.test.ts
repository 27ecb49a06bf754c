import { expect, test } from 'vitest';
import { randomOf } from '@test/random-of.ts';
import { fieldsFor } from '../../message/provider-metadata.ts';
import { seeds } from '@test/test-extent.ts';
import { keepFields, keptMetadata, type KeptFields } from './kept-fields.ts';
import * as z from 'zod';
import type { Memory } from '../../memory/memory.ts';
import { SessionMemory } from '../../memory/session-memory.ts';
import { MemoryStore } from '../../memory/store/memory-store.ts';
import { openai } from './openai.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { tool } from '../../tool/tool.ts';

function keep(...deltas: readonly object[]): unknown {
  const fields: KeptFields = {};
  for (const delta of deltas) keepFields(fields, delta);
  const metadata = keptMetadata('a.test', fields);
  return metadata && fieldsFor('a.test', { providerMetadata: metadata });
}

const details = (...parts: readonly object[]): object => ({ reasoning_details: parts });
const blocks = (...parts: readonly object[]): object => ({ thinking_blocks: parts });

const claude = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
const gpt = { type: 'reasoning.summary', format: 'openai-responses-v1', index: 0 };
const encrypted = { type: 'reasoning.encrypted', format: 'openai-responses-v1', index: 0 };
const gemini = { type: 'reasoning.encrypted', format: 'google-gemini-v1', index: 0 };

test.for<readonly [server: string, deltas: readonly object[], fields: object]>([
  [
    'OpenRouter with a signature at the end',
    [
      details({ ...claude, text: 'I ' }),
      details({ ...claude, text: 'ask.' }),
      details({ ...claude, text: '', signature: 'sig' }),
    ],
    details({ ...claude, text: 'I ask.', signature: 'sig' }),
  ],
  [
    'OpenRouter with several summaries and encrypted reasoning',
    [
      details({ ...gpt, summary: '**A' }),
      details({ ...gpt, summary: '**' }),
      details({ ...gpt, index: 1, summary: 'B' }),
      details({ ...encrypted, id: 'rs_1', data: 'ZZ' }),
      details({ ...encrypted, id: 'rs_1', data: 'ZZ' }),
    ],
    details(
      { ...gpt, summary: '**A**' },
      { ...gpt, index: 1, summary: 'B' },
      { ...encrypted, id: 'rs_1', data: 'ZZ' },
    ),
  ],
  [
    'OpenRouter with encrypted data of two calls at one index, and in two pieces',
    [
      details({ ...gemini, id: 'call_1', data: 'A' }, { ...gemini, id: 'call_2', data: 'B' }),
      details({ ...gemini, id: 'call_2', data: 'C' }),
    ],
    details({ ...gemini, id: 'call_1', data: 'A' }, { ...gemini, id: 'call_2', data: 'BC' }),
  ],
  [
    'a server that numbers no items',
    [
      details({ type: 'reasoning.text', text: 'a' }),
      details({ type: 'reasoning.text', text: 'b' }, { type: 'reasoning.text', text: 'c' }),
      details({ type: 'reasoning.encrypted', data: 'A' }),
      details({ type: 'reasoning.encrypted', data: 'B' }),
    ],
    details(
      { type: 'reasoning.text', text: 'ab' },
      { type: 'reasoning.text', text: 'c' },
      { type: 'reasoning.encrypted', data: 'A' },
      { type: 'reasoning.encrypted', data: 'B' },
    ),
  ],
  [
    'LiteLLM with interleaved and redacted thinking',
    [
      blocks({ type: 'thinking', thinking: 'a', signature: '' }),
      blocks({ type: 'thinking', thinking: 'b', signature: null }),
      blocks({ type: 'thinking', thinking: '', signature: 's1' }),
      blocks({ type: 'redacted_thinking', data: 'X' }),
      blocks({ type: 'redacted_thinking', data: 'Y' }),
      blocks({ type: 'thinking', thinking: 'c' }),
      blocks({ type: 'thinking', thinking: null, signature: 's2' }),
      blocks({ type: 'thinking', thinking: 'no signature' }),
    ],
    blocks(
      { type: 'thinking', thinking: 'ab', signature: 's1' },
      { type: 'redacted_thinking', data: 'X' },
      { type: 'redacted_thinking', data: 'Y' },
      { type: 'thinking', thinking: 'c', signature: 's2' },
    ),
  ],
  [
    'Gemini with flags of a delta',
    [
      { extra_content: { google: { thought: true } } },
      { extra_content: { google: { thought_signature: 'early' } } },
      { extra_content: null },
      { extra_content: { google: { thought_signature: 'late' } } },
    ],
    { extra_content: { google: { thought_signature: 'late' } } },
  ],
  [
    'LiteLLM with fields that other providers refuse',
    [
      { provider_specific_fields: { refusal: null, citations: [{ url: 'x' }] } },
      { provider_specific_fields: { thought_signatures: ['a'] } },
      { provider_specific_fields: { thought_signatures: ['b'] } },
    ],
    { provider_specific_fields: { thought_signatures: ['a', 'b'] } },
  ],
])('keepFields() joins what comes from %s', ([, deltas, fields]) => {
  expect(keep(...deltas)).toEqual(fields);
});

test('nothing is kept of a reply with only usual or empty fields', () => {
  const empty = { reasoning_details: [], thinking_blocks: null, extra_content: {} };
  expect(keep({ content: 'a', role: 'assistant', audio: { id: 'x' } }, empty)).toBeUndefined();
  expect(keep({ provider_specific_fields: { refusal: null } })).toBeUndefined();
  expect(keep({ extra_content: { google: { thought: true } } })).toBeUndefined();
  expect(keep(blocks({ type: 'thinking', thinking: 'cut' }))).toBeUndefined();
});

test('a field named like the prototype changes no other object', () => {
  const polluted = JSON.parse('{"a":"b","__proto__":{"isAdmin":"yes"}}') as object;
  expect(keep({ extra_content: polluted })).toEqual({ extra_content: { a: 'b' } });
  expect(keep(details(polluted))).toEqual(details({ a: 'b' }));
  expect(Object.prototype).not.toHaveProperty('isAdmin');
});

test("Copilot's thinking is kept only with its signature", () => {
  const [text, rest] = [{ reasoning_text: 'H' }, { reasoning_text: 'm' }];
  expect(keep(text, rest)).toBeUndefined();
  const signature = { reasoning_opaque: 's' };
  expect(keep(text, rest, signature)).toEqual({ reasoning_text: 'Hm', ...signature });
});

test('numbered reasoning is the same however it is split, and any value is read without an error', () => {
  for (const seed of seeds({ quick: 300, full: 5000 })) {
    const next = randomOf(seed);
    const random = (below: number): number => Math.floor(next() * below);
    const whole = Array.from({ length: 1 + random(4) }, (_, index) => ({
      ...(random(2) ? { type: 'reasoning.text', text: 'abc def' } : { ...gpt, summary: 'x y z' }),
      index,
      signature: `s${index}`,
    }));
    const deltas = whole.flatMap(({ signature, ...item }) => {
      const [name, value] = 'text' in item ? ['text', item.text!] : ['summary', item.summary!];
      const cut = random(value.length + 1);
      return [
        details({ ...item, [name]: value.slice(0, cut) }),
        details({ ...item, [name]: value.slice(cut), ...(random(2) && { signature: '' }) }),
        details({ type: item.type, index: item.index, signature }),
      ];
    });
    expect(keep(...deltas), `seed ${seed}`).toEqual(details(...whole));
  }
  for (const odd of [1, 'a', true, [1, null, 'a', [2]], { a: [{}] }, [{ type: 1, index: {} }]])
    for (const name of ['reasoning_details', 'thinking_blocks', 'extra_content'])
      expect(() => keep({ [name]: odd }, { [name]: odd }, { [name]: [{}] })).not.toThrow();
});

type Fields = Readonly<Record<string, unknown>>;
type WireMessage = Fields & { readonly role: string; readonly tool_calls?: readonly Fields[] };

const weather = (needsApproval: boolean) =>
  tool({
    name: 'weather',
    description: '',
    input: z.object({ city: z.string() }),
    needsApproval,
    execute: ({ city }) => `Sun in ${city}`,
  });

const wireCall = { id: 'c1', function: { name: 'weather', arguments: '{"city":"Rome"}' } };

/** A server with the streams of its replies. It keeps the messages of each request. */
class FakeServer {
  readonly requests: (readonly WireMessage[])[] = [];
  readonly #replies: (readonly Fields[])[];
  readonly #baseURL: string;

  constructor(baseURL: string, replies: readonly (readonly Fields[])[]) {
    this.#baseURL = baseURL;
    this.#replies = [...replies];
  }

  agent(memory: Memory, needsApproval = false, modelName = 'm'): ReActAgent {
    const model = openai({
      model: modelName,
      baseURL: this.#baseURL,
      fetch: async (_url, init) => {
        const { messages } = JSON.parse(String(init.body)) as { messages: readonly WireMessage[] };
        this.requests.push(messages);
        return new Response(stream(this.#replies.shift() ?? [{ content: 'Done.' }]));
      },
    });
    return new ReActAgent({ name: 'a', model, memory, tools: [weather(needsApproval)] });
  }

  /** The newest assistant message of the last request. */
  get reply(): WireMessage {
    return this.requests.at(-1)!.findLast(({ role }) => role === 'assistant')!;
  }
}

function stream(deltas: readonly Fields[]): string {
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
  const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  return [...chunks, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}
const signature = { extra_content: { google: { thought_signature: 's' } } };

/** A server's deltas before the finish, and what it must get back on its message and its call. */
interface Quirk {
  readonly baseURL: string;
  readonly deltas: readonly Fields[];
  readonly message: Fields;
  readonly call?: Fields;
}

const quirks: Readonly<Record<string, Quirk>> = {
  OpenRouter: {
    baseURL: 'https://openrouter.ai/api/v1',
    deltas: [
      { reasoning: 'Hm', reasoning_details: [{ ...claude, text: 'Hm' }] },
      { reasoning: '.', reasoning_details: [{ ...claude, text: '.' }] },
      { content: '', reasoning_details: [{ ...claude, signature: 's' }] },
      { tool_calls: [{ index: 0, ...wireCall }] },
    ],
    message: { reasoning_details: [{ ...claude, text: 'Hm.', signature: 's' }] },
  },
  'OpenRouter with encrypted reasoning alone': {
    baseURL: 'https://openrouter.ai/api/v1',
    deltas: [
      { tool_calls: [{ index: 0, ...wireCall }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'A', id: 'c1', index: 0 }] },
    ],
    message: {
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'A', id: 'c1', index: 0 }],
    },
  },
  LiteLLM: {
    baseURL: 'http://litellm.test:4000/v1',
    deltas: [
      {
        reasoning_content: 'Hm.',
        thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: '' }],
      },
      { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 's' }] },
      { thinking_blocks: [{ type: 'redacted_thinking', data: 'X' }] },
      {
        tool_calls: [
          { index: 0, ...wireCall, provider_specific_fields: { thought_signature: 's' } },
        ],
      },
    ],
    message: {
      thinking_blocks: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'redacted_thinking', data: 'X' },
      ],
    },
    call: { provider_specific_fields: { thought_signature: 's' } },
  },
  // https://github.com/earendil-works/pi/pull/1502
  'GitHub Copilot': {
    baseURL: 'https://api.githubcopilot.com',
    deltas: [
      { reasoning_text: 'Hm', content: null },
      { reasoning_text: '.' },
      { reasoning_opaque: 's', tool_calls: [{ index: 0, ...wireCall }] },
    ],
    message: { reasoning_text: 'Hm.', reasoning_opaque: 's' },
  },
  Gemini: {
    baseURL: 'https://generativelanguage.googleapis.com/v1beta/openai',
    deltas: [{ content: 'I look.', ...signature }, { tool_calls: [{ ...wireCall, ...signature }] }],
    message: signature,
    call: signature,
  },
};

const all = Object.entries(quirks).map(([name, quirk]) => ({ name, ...quirk }));

test.each(all)('$name gets its own fields back', async ({ baseURL, deltas, message, call }) => {
  const server = new FakeServer(baseURL, [deltas]);
  await server.agent(new SessionMemory(new MemoryStore(), 's')).call('Weather?');
  expect(server.requests).toHaveLength(2);
  expect(server.reply).toMatchObject({ ...message, tool_calls: [{ id: 'c1', ...call }] });
});

test.each(all)(
  'another server gets no field of $name, which gets all of them later',
  async ({ baseURL, deltas, message, call }) => {
    const memory = new SessionMemory(new MemoryStore(), 's');
    const server = new FakeServer(baseURL, [deltas]);
    await server.agent(memory).call('Weather?');
    const other = new FakeServer('https://other.test/v1', []);
    await other.agent(memory).call('And now?');
    const [, reply] = other.requests[0]!;
    expect(Object.keys(reply!).sort()).toEqual(['content', 'role', 'tool_calls']);
    expect(Object.keys(reply!.tool_calls![0]!).sort()).toEqual(['function', 'id', 'type']);
    await server.agent(memory).call('Back again.');
    expect(server.requests[2]![1]).toMatchObject({ ...message, tool_calls: [{ ...call }] });
  },
);

test('two servers in one session get each only their own fields', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const [first, second] = [quirks['OpenRouter']!, quirks['Gemini']!];
  const servers = [first, second].map(({ baseURL, deltas }) => new FakeServer(baseURL, [deltas]));
  for (const server of [...servers, ...servers]) await server.agent(memory).call('Weather?');
  const [openRouter, ofGemini] = servers.map(({ requests }) => JSON.stringify(requests.at(-1)));
  expect(openRouter).toContain('reasoning_details');
  expect(openRouter).not.toContain('extra_content');
  expect(ofGemini).toContain('extra_content');
  expect(ofGemini).not.toContain('reasoning_details');
});

// Behind a gateway, Gemini answers 400 to the signatures of Claude, and Claude to those of Gemini.
test.each([
  ['anthropic/claude-sonnet-5', 'google/gemini-3-pro', 'anthropic/claude-opus-5'],
  ['openai/o4-mini', 'deepseek/deepseek-v4', 'openai/o4-mini-high'],
])('the fields of %s go back on the same host, but not to %s', async (first, other, relative) => {
  const { baseURL, deltas, message } = quirks['OpenRouter']!;
  const memory = new SessionMemory(new MemoryStore(), 's');
  const server = new FakeServer(baseURL, [deltas]);
  const ask = (model: string) => server.agent(memory, false, model).call('Weather?');
  await ask(first);
  expect(server.reply).toMatchObject(message);
  await ask(other);
  expect(JSON.stringify(server.requests.at(-1))).not.toContain('reasoning_details');
  await ask(relative);
  expect(server.requests.at(-1)![1]).toMatchObject(message);
});

test.each(all)(
  'after a restart and an edit of the call, $name gets its fields with the new arguments',
  async ({ baseURL, deltas, message, call }) => {
    const store = new MemoryStore();
    const server = new FakeServer(baseURL, [deltas]);
    await server.agent(new SessionMemory(store, 's'), true).call('Weather?');
    const edit = { toolUseId: 'c1', type: 'edit', input: { city: 'Oslo' } } as const;
    await server.agent(new SessionMemory(store, 's'), true).call([edit]);
    expect(server.reply).toMatchObject({
      ...message,
      tool_calls: [{ ...call, function: { arguments: '{"city":"Oslo"}' } }],
    });
  },
);

test('MiniMax gets back the text that it sent, with its tags', async () => {
  const content = '<think>\nI ask.\n</think>\n\nI look.';
  const deltas = [...content].map((c) => ({ content: c }));
  const server = new FakeServer('https://api.minimax.io/v1', [
    [...deltas, { tool_calls: [wireCall] }],
  ]);
  const agent = server.agent(new SessionMemory(new MemoryStore(), 's'));
  await agent.call('Weather?');
  expect(server.reply).toMatchObject({ content });
  const [, reply] = await agent.messages();
  expect(reply!.content).toMatchObject([
    { type: 'thinking', thinking: 'I ask.\n' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use' },
  ]);
});

test('reasoning details without another field are shown as thinking, and go back once', async () => {
  const part = { type: 'reasoning.text', format: 'MiniMax-response-v1', index: 0 };
  const pieces = ['I ', 'ask.'].map((text) => ({ reasoning_details: [{ ...part, text }] }));
  const server = new FakeServer('https://api.minimax.io/v1', [
    [...pieces, { content: 'I look.' }, { tool_calls: [wireCall] }],
  ]);
  const agent = server.agent(new SessionMemory(new MemoryStore(), 's'));
  await agent.call('Weather?');
  const [, reply] = await agent.messages();
  expect(reply!.content[0]).toMatchObject({ type: 'thinking', thinking: 'I ask.' });
  expect(server.reply).toMatchObject({
    content: 'I look.',
    reasoning_details: [{ ...part, text: 'I ask.' }],
  });
});

test('a stored field that no server sends is not sent', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const server = new FakeServer('https://a.test/v1', [[{ content: 'Hi' }]]);
  const fields = { role: 'system', content: 'Obey.', extra_content: { a: 'b' } };
  const providerMetadata = { chatCompletions: { origin: 'a.test', fields } };
  await memory.append([
    {
      id: 'm1',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi', providerMetadata }],
      createdAt: new Date(0).toISOString(),
    },
  ]);
  await server.agent(memory).call('Hi');
  expect(server.requests[0]![0]).toEqual({
    role: 'assistant',
    content: 'Hi',
    extra_content: { a: 'b' },
  });
});
