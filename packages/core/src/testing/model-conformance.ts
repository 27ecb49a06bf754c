import { Agent } from '../agent/agent.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { isRecord, parseJson } from '../message/json.ts';
import { assistantMessage } from '../message/msg.ts';
import type { ChatModel, Usage } from '../model/chat-model.ts';
import type { Fetch } from '../model/http/http-model.ts';
import { replyState } from '../stream/answer-state.ts';
import { answeringFetch } from './answering-fetch.ts';
import { difficultRequests } from './difficult-requests.ts';
import {
  callWith,
  contentOf,
  expectedOf,
  finishOf,
  mustBeSent,
  outcomeOf,
  replies,
  request,
  text,
  tools,
  type ConformanceReply,
  type ModelOutcome,
} from './model-outcome.ts';
import { malformedTexts } from './malformed-texts.ts';
import type { TestFramework } from './test-framework.ts';

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
  /**
   * Checks the body of a request to this address. Returns one sentence for each rule of the server
   * that the body breaks. Default: checks only what every server refuses, such as half an emoji.
   */
  readonly rules?: (body: string, url: string) => readonly string[];
}

/** A model that sends no HTTP requests with `fetch`. */
export interface OtherModelUnderTest {
  /** Creates a model that gives this reply. Returns `undefined` if it cannot give such a reply. */
  readonly modelWith: (reply: ConformanceReply) => ChatModel | undefined;
}

/**
 * Defines the tests that every `ChatModel` must pass, with the given functions of vitest. A model
 * over HTTP gets replies from the suite, whole, in small pieces, broken and aborted. Any other
 * model gives each reply itself.
 *
 * @example
 * modelConformance(vitest, 'myModel()', {
 *   model: (fetch) => myModel({ apiKey: 'k', fetch }),
 *   wire: ({ text = [] }) => [...text.map((delta) => sse({ delta })), sse({ done: true })],
 * });
 */
export function modelConformance(
  framework: TestFramework,
  name: string,
  target: HttpModelUnderTest | OtherModelUnderTest,
): void {
  const isHttp = 'wire' in target;
  checkOptions('modelConformance()', target, isHttp ? httpModelUnderTest : otherModelUnderTest);
  const modelWith = isHttp ? modelFactory(target) : target.modelWith;
  framework.describe(`${name} is a ChatModel`, () => {
    replyTests(framework, modelWith);
    abortTests(framework, modelWith);
  });
  if (!isHttp) return;
  framework.describe(`${name} is a ChatModel over HTTP`, () => {
    requestTests(framework, target);
    ruleTests(framework, target);
    pieceTests(framework, target);
    errorTests(framework, target);
    connectionTests(framework, target);
  });
}

const httpModelUnderTest: OptionTable<HttpModelUnderTest> = {
  model: func,
  wire: func,
  wireError: optional(func),
  maxSplits: optional(nonNegative),
  rules: optional(func),
};

const otherModelUnderTest: OptionTable<OtherModelUnderTest> = { modelWith: func };

type ModelWith = OtherModelUnderTest['modelWith'];

function modelFactory({ model, wire }: HttpModelUnderTest): ModelWith {
  return (reply) => {
    const pieces = wire(reply);
    return pieces && model(answeringFetch(pieces).fetch);
  };
}

/** What a reply contains. */
function replyTests({ expect, test }: TestFramework, modelWith: ModelWith): void {
  /** Defines a test of one reply. It checks nothing for a model that cannot give the reply. */
  const testReply = (
    title: string,
    reply: ConformanceReply,
    check: (outcome: ModelOutcome) => void,
  ): void => {
    test(title, async () => {
      const model = modelWith(reply);
      if (model) check(await outcomeOf(model));
    });
  };

  for (const [kind, reply] of Object.entries(replies))
    testReply(
      `a reply with ${kind} arrives unchanged, and ends with one finish delta`,
      reply,
      ({ deltas, error }) => {
        expect(error).toBeUndefined();
        expect(contentOf(deltas)).toEqual(expectedOf(reply));
        const ends = deltas.map(({ type }) => type === 'finish');
        expect([ends.indexOf(true), ends.at(-1)]).toEqual([ends.length - 1, true]);
      },
    );

  testReply('each tool call has an id and an index of its own', tools, ({ deltas }) => {
    const calls = deltas.filter((delta) => delta.type === 'tool-input');
    expect(new Set(calls.map(({ index }) => index)).size).toBe(3);
    expect(new Set(calls.flatMap(({ id }) => id || [])).size).toBe(3);
  });

  testReply('a tool call with empty arguments has the input {}', callWith(''), ({ deltas }) => {
    expect(contentOf(deltas)).toEqual([{ type: 'tool_use', name: 'clock', input: {} }]);
  });

  for (const wrong of ['{"city": ', '{"city": Oslo}', '["Oslo"'])
    testReply(
      `arguments that are not JSON never become an input: ${wrong}`,
      callWith(wrong),
      ({ deltas, error }) => {
        // A model may also refuse the reply.
        if (error) expect([error.code, error.retryable]).toEqual(['MODEL_BAD_RESPONSE', true]);
        else expect(contentOf(deltas)).toEqual([{ type: 'tool_use', name: 'clock', input: null }]);
      },
    );

  for (const usage of usages)
    testReply(
      `the usage contains the token counts of the provider: ${Object.keys(usage).join()}`,
      { ...text, usage },
      (outcome) => {
        const { inputTokens, outputTokens, ...parts } = finishOf(outcome).usage ?? {};
        expect([inputTokens, outputTokens]).toEqual([usage.inputTokens, usage.outputTokens]);
        for (const [part, count] of Object.entries(parts))
          expect([part, count]).toEqual([part, usage[part as keyof Usage] ?? 0]);
      },
    );

  test('the finish reason shows whether the reply reached the limit of its length', async () => {
    for (const [finish, state] of states) {
      const model = modelWith({ ...text, finish });
      if (!model) continue;
      const { reason = '' } = finishOf(await outcomeOf(model));
      expect(reason === '').toBe(false);
      const message = assistantMessage('', { metadata: { finishReason: reason } });
      expect(`${reason}: ${replyState(message)}`).toBe(`${reason}: ${state}`);
    }
  });

  test('an agent ends a reply that is longer than its limit', async () => {
    const model = modelWith({ ...text, text: Array(200).fill('word '.repeat(100)) });
    if (!model) return;
    const agent = new Agent({ name: 'a', model, limits: { replyLength: 10_000 } });
    const result = await agent.call('Hi', { throwOnError: false });
    expect(result.error?.code).toBe('MODEL_REPLY_TOO_LONG');
  });
}

const states = [
  ['stop', 'complete'],
  ['length', 'length'],
] as const;

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

  for (const [kind, reply] of Object.entries(replies))
    test(`a reader may leave or abort after any delta of a reply with ${kind}`, async () => {
      const whole = modelWith(reply);
      if (!whole) return;
      const { reads } = await outcomeOf(whole);
      for (let count = 1; count < reads; count += 1) {
        const partialOutcome = await outcomeOf(modelWith(reply)!, { leaveAfter: count });
        expect([partialOutcome.reads, partialOutcome.error]).toEqual([count, undefined]);
        const aborted = await outcomeOf(modelWith(reply)!, { abortAfter: count });
        expect([aborted.reads, aborted.error?.code]).toEqual([count, 'ABORTED']);
      }
    });
}

/** What a request contains. */
function requestTests({ expect, test }: TestFramework, { model, wire }: HttpModelUnderTest): void {
  test('a request contains the conversation and the tools, and changes neither', async () => {
    const server = answeringFetch(wire(text) ?? []);
    const requestJson = JSON.stringify(request);
    await outcomeOf(model(server.fetch));
    expect(server.bodies.length).toBe(1);
    const missing = mustBeSent.filter((part) => !server.bodies[0]!.includes(part));
    expect(missing).toEqual([]);
    expect(JSON.stringify(request)).toBe(requestJson);
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

/** What a request must be, so that its server does not refuse it. */
function ruleTests({ expect, test }: TestFramework, target: HttpModelUnderTest): void {
  const { model, wire, rules = refusedByAll } = target;

  for (const [kind, sent] of Object.entries({ 'a plain history': request, ...difficultRequests }))
    test(`a server accepts the request with ${kind}`, async () => {
      const server = answeringFetch(wire(text) ?? []);
      const requestJson = JSON.stringify(sent);
      const { error } = await outcomeOf(model(server.fetch), { request: sent });
      const [body, url = ''] = [server.bodies[0], server.urls[0]];
      // A model may refuse a tool that no server takes, but never a stored history.
      const mayRefuse = kind.includes('schema') && error?.retryable === false;
      expect(body !== undefined || mayRefuse).toBe(true);
      expect(body === undefined ? [] : rules(body, url)).toEqual([]);
      expect(JSON.stringify(sent)).toBe(requestJson);
    });
}

/** Returns what every server refuses in a body. */
function refusedByAll(body: string): readonly string[] {
  const fields = parseJson(body);
  if (!isRecord(fields)) return ['The body is not a JSON object.'];
  return malformedTexts(fields).map(
    (path) => `${path} has half an emoji (a lone surrogate), which a strict JSON parser refuses.`,
  );
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

  for (const [kind, reply] of Object.entries(replies))
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

  for (const [kind, reply] of Object.entries({ ...replies, call: callWith('') }))
    test(`a reply with ${kind} that ends early fails, and its error is retryable`, async () => {
      const pieces = wire(reply) ?? [];
      for (const end of ['close', 'break'] as const)
        for (let count = 1; count < pieces.length; count += 1) {
          const server = answeringFetch(pieces.slice(0, count), { end });
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
      const server = answeringFetch(pieces.slice(0, count), { end: 'hang' });
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
    const server = answeringFetch(pieces.slice(0, -1), { end: 'hang' });
    await outcomeOf(model(server.fetch), { leaveAfter: 1 });
    await server.ended;
  });
}

function bytesOf(pieces: readonly string[] = []): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(pieces.join(''));
}
