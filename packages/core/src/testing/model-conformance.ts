import { Agent } from '../agent/agent.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/check-fields.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import type { Fetch } from '../model/http/http-request.ts';
import { ReplyAssembler } from '../model/reply-assembler.ts';
import type { Usage } from '../model/usage.ts';
import { answeringFetch, type AnsweringFetch, type AnsweringOptions } from './answering-fetch.ts';
import type { TestFramework } from './test-framework.ts';

/** A reply that the model under test has to give: first thinking, then text, then tool calls. */
export interface ConformanceReply {
  /** Pieces of the thinking. Each is a delta of its own. */
  readonly thinking?: readonly string[];
  /** Pieces of the text. Each is a delta of its own. */
  readonly text?: readonly string[];
  readonly toolCalls?: readonly ConformanceCall[];
  /** Why the reply ends. The finish reason on the wire is the provider's term for it. */
  readonly finish: 'stop' | 'tool-calls' | 'length';
  /** Token counts that the provider reports. Default: it reports none. */
  readonly usage?: Usage;
}

/** A tool call in a reply that the model under test has to give. */
export interface ConformanceCall {
  readonly id: string;
  readonly name: string;
  /** Pieces of the arguments' JSON text. The text may be empty, or not be JSON. */
  readonly arguments: readonly string[];
}

/** A model over HTTP. The suite is its server. */
export interface HttpModelUnderTest {
  /** Creates the model. It must send its requests with this `fetch` function. */
  readonly model: (fetch: Fetch) => ChatModel;
  /**
   * Returns the body of a reply in the provider's format, one text for each event. Returns
   * `undefined` for a reply that the format cannot express. Its tests then check nothing.
   */
  readonly wire: (reply: ConformanceReply) => readonly string[] | undefined;
  /** Returns the body of an error. Default: `{"error":{"message":…}}`. */
  readonly wireError?: (message: string) => string;
  /** Most places at which a reply is split into two pieces. Default: every byte. */
  readonly maxSplits?: number;
}

/** A model that sends no HTTP requests with `fetch`. */
export interface OtherModelUnderTest {
  /** Creates a model that gives this reply. Returns `undefined` if it cannot give such a reply. */
  readonly modelWith: (reply: ConformanceReply) => ChatModel | undefined;
}

const text: ConformanceReply = {
  text: ['It is', ' 18 °C in 東京 😀.', '\n"Mild" \\ for Nov.'],
  finish: 'stop',
  usage: { inputTokens: 12, outputTokens: 7 },
};
const tools: ConformanceReply = {
  text: ['I look.'],
  toolCalls: [
    { id: 'call_a', name: 'weather', arguments: ['{"city":', '"東京 😀","days"', ':[1,2]}'] },
    { id: 'call_b', name: 'clock', arguments: ['{}'] },
    { id: 'call_c', name: 'weather', arguments: ['{"city":"Oslo"}'] },
  ],
  finish: 'tool-calls',
};
const replies = {
  text,
  thinking: { thinking: ['Let me', ' think.'], text: ['Yes.'], finish: 'stop' },
  tools,
} as const satisfies Readonly<Record<string, ConformanceReply>>;

/**
 * Defines the tests that every `ChatModel` must pass, with the given functions of vitest. A model
 * over HTTP gets replies from the suite, whole, in small pieces, broken and aborted. Any other
 * model gives each reply itself.
 *
 * @example
 * modelConformance(vitest, 'myModel()', { model: (fetch) => myModel({ apiKey: 'k', fetch }), wire:
 * ({ text = [] }) => [...text.map((delta) => sse({ delta })), sse({ done: true })], });
 */
export function modelConformance(
  framework: TestFramework,
  name: string,
  target: HttpModelUnderTest | OtherModelUnderTest,
): void {
  const isHttp = 'wire' in target;
  const fields = isHttp
    ? 'model,wire:function wireError:function|? maxSplits:count|?'
    : 'modelWith:function';
  checkOptions('modelConformance()', target, fields);
  const modelWith = isHttp ? answering(target) : target.modelWith;
  framework.describe(`${name} is a ChatModel`, () => {
    replyTests(framework, modelWith);
    abortTests(framework, modelWith);
  });
  if (!isHttp) return;
  framework.describe(`${name} is a ChatModel over HTTP`, () => {
    requestTests(framework, target);
    pieceTests(framework, target);
    errorTests(framework, target);
    connectionTests(framework, target);
  });
}

type ModelWith = OtherModelUnderTest['modelWith'];

function answering({ model, wire }: HttpModelUnderTest): ModelWith {
  return (reply) => {
    const pieces = wire(reply);
    return pieces && model(answeringFetch(pieces).fetch);
  };
}

/** What a reply contains. */
function replyTests({ expect, test }: TestFramework, modelWith: ModelWith): void {
  const outcomeFor = async (reply: ConformanceReply): Promise<Outcome | undefined> => {
    const model = modelWith(reply);
    return model && (await outcomeOf(model));
  };

  for (const [kind, reply] of Object.entries<ConformanceReply>(replies))
    test(`a reply with ${kind} arrives unchanged, and ends with one finish delta`, async () => {
      const outcome = await outcomeFor(reply);
      if (!outcome) return;
      expect(outcome.error).toBeUndefined();
      expect(contentOf(outcome.deltas)).toEqual(expectedOf(reply));
      const ends = outcome.deltas.map(({ type }) => type === 'finish');
      expect([ends.indexOf(true), ends.at(-1)]).toEqual([ends.length - 1, true]);
    });

  test('each tool call has an id and an index of its own', async () => {
    const outcome = await outcomeFor(tools);
    if (!outcome) return;
    const calls = outcome.deltas.filter((delta) => delta.type === 'tool-input');
    expect(new Set(calls.map(({ index }) => index)).size).toBe(3);
    expect(new Set(calls.flatMap(({ id }) => id || [])).size).toBe(3);
  });

  test('a tool call with empty arguments has the input {}', async () => {
    const outcome = await outcomeFor(callWith(''));
    if (!outcome) return;
    expect(contentOf(outcome.deltas)).toEqual([{ type: 'tool_use', name: 'clock', input: {} }]);
  });

  for (const wrong of ['{"city": ', '{"city": Oslo}', '["Oslo"'])
    test(`arguments that are not JSON never become an input: ${wrong}`, async () => {
      const outcome = await outcomeFor(callWith(wrong));
      if (!outcome) return;
      const { deltas, error } = outcome;
      // A model may also refuse the reply.
      if (error) expect([error.code, error.retryable]).toEqual(['MODEL_BAD_RESPONSE', true]);
      else expect(contentOf(deltas)).toEqual([{ type: 'tool_use', name: 'clock', input: null }]);
    });

  test('the usage contains the token counts of the provider', async () => {
    for (const usage of usages) {
      const outcome = await outcomeFor({ ...text, usage });
      if (!outcome) return;
      const { inputTokens, outputTokens, ...parts } = finishOf(outcome).usage ?? {};
      expect({ inputTokens, outputTokens }).toEqual({
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
      });
      for (const [part, count] of Object.entries(parts))
        expect([part, count]).toEqual([part, usage[part as keyof Usage] ?? 0]);
    }
  });

  test('the finish reason shows whether the reply reached the limit of its length', async () => {
    const outcomes = await Promise.all([
      outcomeFor(text),
      outcomeFor({ ...text, finish: 'length' }),
    ]);
    const [stop, length] = outcomes.map((outcome) => outcome && finishOf(outcome).reason);
    if (stop === undefined || length === undefined) return;
    expect(stop === '' || length === '' || stop === length).toBe(false);
  });

  test('an agent ends a reply that is longer than its limit', async () => {
    const long = { ...text, text: Array.from({ length: 200 }, () => 'word '.repeat(100)) };
    const model = modelWith(long);
    if (!model) return;
    const agent = new Agent({ name: 'a', model, limits: { replyLength: 10_000 } });
    const result = await agent.call('Hi', { throwOnError: false });
    expect(result.error?.code).toBe('MODEL_REPLY_TOO_LONG');
  });
}

const usages: readonly Usage[] = [
  { inputTokens: 12, outputTokens: 7 },
  { inputTokens: 12, outputTokens: 7, reasoningTokens: 3, cachedInputTokens: 5 },
];

/** A reader that leaves. */
function abortTests({ expect, test }: TestFramework, modelWith: ModelWith): void {
  test('a request whose signal is aborted fails', async () => {
    const model = modelWith(text);
    if (!model) return;
    const { deltas, error } = await outcomeOf(model, { signal: AbortSignal.abort() });
    expect([deltas, error?.code]).toEqual([[], 'ABORTED']);
  });

  for (const [kind, reply] of Object.entries<ConformanceReply>(replies))
    test(`a reader may leave or abort after any delta of a reply with ${kind}`, async () => {
      const whole = modelWith(reply);
      if (!whole) return;
      const { reads } = await outcomeOf(whole);
      for (let count = 1; count < reads; count += 1) {
        const left = await outcomeOf(modelWith(reply)!, { leaveAfter: count });
        expect([left.reads, left.error]).toEqual([count, undefined]);
        const aborted = await outcomeOf(modelWith(reply)!, { abortAfter: count });
        expect([aborted.reads, aborted.error?.code]).toEqual([count, 'ABORTED']);
      }
    });
}

/** What a request contains. */
function requestTests({ expect, test }: TestFramework, { model, wire }: HttpModelUnderTest): void {
  test('a request contains the conversation and the tools, and changes neither', async () => {
    const server = answeringFetch(wire(text) ?? []);
    const before = JSON.stringify(request);
    await outcomeOf(model(server.fetch));
    expect(server.bodies.length).toBe(1);
    const missing = mustBeSent.filter((part) => !server.bodies[0]!.includes(part));
    expect(missing).toEqual([]);
    expect(JSON.stringify(request)).toBe(before);
  });

  test('the same request has the same body each time', async () => {
    const server = answeringFetch(wire(text) ?? []);
    const under = model(server.fetch);
    await outcomeOf(under);
    await outcomeOf(under);
    expect(server.bodies[1]).toBe(server.bodies[0]);
  });

  test('no request is sent before the reply is read', async () => {
    const server = answeringFetch(wire(text) ?? []);
    model(server.fetch).stream(request, { signal: new AbortController().signal });
    await undefined;
    expect(server.bodies.length).toBe(0);
  });
}

/** A reply whose bytes arrive in other pieces. */
function pieceTests({ expect, test }: TestFramework, target: HttpModelUnderTest): void {
  const { model, wire, maxSplits = Infinity } = target;
  const contentFrom = async (pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<unknown> => {
    const { deltas, error } = await outcomeOf(model(answeringFetch(pieces).fetch));
    return error ?? contentOf(deltas);
  };

  test('a reply with tools may be split at every byte', async () => {
    const bytes = bytesOf(wire(tools));
    const step = Math.max(1, Math.ceil(bytes.length / maxSplits));
    for (let at = 1; at < bytes.length; at += step)
      expect(await contentFrom([bytes.slice(0, at), bytes.slice(at)])).toEqual(expectedOf(tools));
  });

  for (const [kind, reply] of Object.entries<ConformanceReply>(replies))
    test(`a reply with ${kind} may arrive byte by byte, or at once`, async () => {
      const bytes = bytesOf(wire(reply));
      if (!bytes.length) return;
      const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
      expect(await contentFrom(single)).toEqual(expectedOf(reply));
      expect(await contentFrom([bytes])).toEqual(expectedOf(reply));
    });
}

/** Errors of the server. */
function errorTests({ expect, test }: TestFramework, target: HttpModelUnderTest): void {
  const { model, wireError = (message) => JSON.stringify({ error: { message } }) } = target;
  for (const [status, code, retryable, message] of failures)
    test(`HTTP ${status} with "${message}" rejects with ${code}`, async () => {
      const headers = { 'content-type': 'application/json', 'retry-after': '2' };
      const server = answeringFetch([wireError(message)], { init: { status, headers } });
      const { deltas, error } = await outcomeOf(model(server.fetch));
      expect([deltas, error?.code, error?.retryable]).toEqual([[], code, retryable]);
      expect(error?.details?.['status']).toBe(status);
      expect(error?.details?.['retryAfterMs']).toBe(2_000);
      expect(error?.message.includes(message)).toBe(true);
    });

  test('a server that cannot be reached rejects with MODEL_UNREACHABLE', async () => {
    const under = model(async () => {
      throw new TypeError('fetch failed');
    });
    const { error } = await outcomeOf(under);
    expect([error?.code, error?.retryable]).toEqual(['MODEL_UNREACHABLE', true]);
  });

  test('a reply that is not in the provider’s format rejects with MODEL_BAD_RESPONSE', async () => {
    for (const body of ['<html>Hi</html>', '{"status":"ok"}', '']) {
      const { deltas, error } = await outcomeOf(model(answeringFetch([body]).fetch));
      expect([deltas, error?.code]).toEqual([[], 'MODEL_BAD_RESPONSE']);
    }
  });
}

const failures = [
  [400, 'MODEL_REQUEST', false, 'temperature is too high'],
  [400, 'MODEL_CONTEXT_LENGTH', false, 'maximum context length exceeded'],
  [401, 'MODEL_AUTH', false, 'invalid key'],
  [403, 'MODEL_AUTH', false, 'no access'],
  [404, 'MODEL_REQUEST', false, 'no such model'],
  [429, 'MODEL_RATE_LIMITED', true, 'too many requests'],
  [500, 'MODEL_SERVER', true, 'something went wrong'],
  [503, 'MODEL_SERVER', true, 'overloaded'],
] as const;

/** A connection that ends too early. */
function connectionTests({ expect, test }: TestFramework, target: HttpModelUnderTest): void {
  const { model, wire } = target;
  const serve = (
    pieces: readonly string[],
    end: Required<AnsweringOptions>['end'],
  ): AnsweringFetch => answeringFetch(pieces, { end });

  for (const [kind, reply] of Object.entries<ConformanceReply>({ ...replies, call: callWith('') }))
    test(`a reply with ${kind} that ends early fails, and its error is retryable`, async () => {
      const pieces = wire(reply) ?? [];
      for (const end of ['close', 'break'] as const)
        for (let count = 1; count < pieces.length; count += 1) {
          const server = serve(pieces.slice(0, count), end);
          const { deltas, error } = await outcomeOf(model(server.fetch));
          // The last events may have nothing that the reply needs.
          if (!error) expect(contentOf(deltas)).toEqual(expectedOf(reply));
          else expect([count, error.retryable]).toEqual([count, true]);
        }
    });

  test('an abort ends a request whose server has stopped sending', async () => {
    const pieces = wire(tools) ?? [];
    for (let count = 0; count < pieces.length; count += 1) {
      const controller = new AbortController();
      const server = serve(pieces.slice(0, count), 'hang');
      const outcome = outcomeOf(model(server.fetch), { signal: controller.signal });
      await server.drained;
      controller.abort();
      expect((await outcome).error?.code).toBe('ABORTED');
      await server.ended;
    }
  });

  test('a reader that leaves ends the request', async () => {
    const pieces = wire(text) ?? [];
    // A reply of one event is complete before its reader can leave.
    if (pieces.length < 2) return;
    const server = serve(pieces.slice(0, -1), 'hang');
    await outcomeOf(model(server.fetch), { leaveAfter: 1 });
    await server.ended;
  });
}

interface Outcome {
  readonly deltas: readonly ModelDelta[];
  readonly reads: number;
  readonly error: AgentError | undefined;
}

interface Reading {
  readonly signal?: AbortSignal;
  /** Number of reads after which the reader leaves. */
  readonly leaveAfter?: number;
  /** Number of reads after which the reader aborts the request. */
  readonly abortAfter?: number;
}

/** Reads a reply of the model, as far as it goes. */
async function outcomeOf(model: ChatModel, reading: Reading = {}): Promise<Outcome> {
  const controller = new AbortController();
  const { signal = controller.signal, leaveAfter, abortAfter } = reading;
  const deltas: ModelDelta[] = [];
  let reads = 0;
  try {
    for await (const read of model.stream(request, { signal })) {
      deltas.push(...read);
      reads += 1;
      if (reads === leaveAfter) break;
      if (reads === abortAfter) controller.abort();
    }
  } catch (error) {
    return { deltas, reads, error: AgentError.from(error) };
  }
  return { deltas, reads, error: undefined };
}

function finishOf({ deltas }: Outcome): Partial<Extract<ModelDelta, { type: 'finish' }>> {
  return deltas.find((delta) => delta.type === 'finish') ?? {};
}

/** Returns the blocks of a reply, without what only the provider needs. */
function contentOf(deltas: readonly ModelDelta[]): readonly unknown[] {
  let calls = 0;
  const reply = new ReplyAssembler({
    messageId: 'reply',
    toolUseId: (given) => given ?? `unnamed_${(calls += 1)}`,
  });
  for (const delta of deltas) reply.add(delta);
  return reply.content({ partial: false }).flatMap(shown);
}

function shown(block: ContentBlock): readonly unknown[] {
  switch (block.type) {
    case 'text':
      return block.text ? [{ type: 'text', text: block.text }] : [];
    case 'thinking':
      return block.thinking ? [{ type: 'thinking', thinking: block.thinking }] : [];
    case 'tool_use':
      return [{ type: 'tool_use', name: block.name, input: block.input }];
    default:
      return [block];
  }
}

function expectedOf({
  thinking,
  text: words,
  toolCalls = [],
}: ConformanceReply): readonly unknown[] {
  return [
    ...(thinking ? [{ type: 'thinking', thinking: thinking.join('') }] : []),
    ...(words ? [{ type: 'text', text: words.join('') }] : []),
    ...toolCalls.map((call) => ({
      type: 'tool_use',
      name: call.name,
      input: JSON.parse(call.arguments.join('') || '{}') as unknown,
    })),
  ];
}

function callWith(given: string): ConformanceReply {
  const call = { id: 'call_a', name: 'clock', arguments: given ? [given] : [] };
  return { toolCalls: [call], finish: 'tool-calls' };
}

function bytesOf(pieces: readonly string[] = []): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(pieces.join(''));
}

const request: ModelRequest = {
  messages: [
    turn('system', { type: 'text', text: 'Answer in one sentence.' }),
    turn('user', { type: 'text', text: 'How warm is it?' }),
    turn(
      'assistant',
      { type: 'text', text: 'I ask the tool.' },
      { type: 'tool_use', id: 'call_0', name: 'weather', input: { city: 'Oslo' } },
    ),
    turn('tool', {
      type: 'tool_result',
      toolUseId: 'call_0',
      name: 'weather',
      output: 'seven degrees',
      state: 'success',
    }),
    turn('user', { type: 'text', text: 'And in Japan?' }),
  ],
  tools: [
    {
      name: 'weather',
      description: 'Current weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
    {
      name: 'clock',
      description: 'Tells the time',
      parameters: { type: 'object', properties: {} },
    },
  ],
};

function turn(role: Msg['role'], ...content: readonly ContentBlock[]): Msg {
  return { id: `message of the ${role}`, role, content, createdAt: '2026-01-01T00:00:00.000Z' };
}

/** Texts of the request that every format sends as they are. */
const mustBeSent = [
  'Answer in one sentence.',
  'How warm is it?',
  'I ask the tool.',
  'Oslo',
  'seven degrees',
  'And in Japan?',
  'Current weather of a city',
  'Tells the time',
];
