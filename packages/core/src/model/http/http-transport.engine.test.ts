import { beforeEach, expect, test } from 'vitest';
import { httpProviders } from '@test/support/providers.ts';
import { unfinished } from '@test/support/wire-formats.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { modelTimeout } from '../../resilience/model-timeout.ts';
import type { ChatModel, ModelDelta } from '../chat-model.ts';
import { openai } from '../openai/openai.ts';
import type { Fetch } from './http-model.ts';
import { fromAiSdk } from '../ai-sdk/ai-sdk-model.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

const timeoutMs = 1_000;
const pauseMs = 400;

/** Streams the pieces, one piece per pause, and then repeats the last piece. */
const paced = <T>(pieces: readonly T[], seen: { cancelled: boolean }): ReadableStream<T> => {
  let index = 0;
  return new ReadableStream<T>(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        if (seen.cancelled) return;
        controller.enqueue(pieces[Math.min(index++, pieces.length - 1)]!);
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
};

const served = (pieces: readonly string[], status = 200) => {
  const seen = { cancelled: false };
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
  const serve: Fetch = async () => new Response(paced(bytes, seen), { status });
  return { seen, serve };
};

/** Returns the outcome of a call after this time, or `undefined` if the call has not ended. */
const outcomeAfter = async (model: ChatModel, ms: number): Promise<unknown> => {
  let outcome: unknown;
  new ReActAgent({ name: 'a', model }).call('Hi').then(
    ({ text }) => (outcome = text),
    (error: unknown) => (outcome = error),
  );
  await clock.advance(ms);
  return outcome;
};

const timedOut = { name: 'AgentError', code: 'MODEL_TIMEOUT', retryable: true };

const chunk = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const delta = (fields: object): string => chunk({ choices: [{ delta: fields }] });
const word = delta({ content: 'word ' });
const call = { index: 0, id: 'c', function: { name: 'look', arguments: '' } };

const silences: readonly (readonly [what: string, pieces: readonly string[]])[] = [
  ['comments', [': keep-alive\n\n']],
  ['comments of one line each', [':\n']],
  ['comments after some text', [word, ': keep-alive\n\n']],
  ['comments after an event without content', [chunk({ choices: [] }), ': ping\n\n']],
  ['empty lines', ['\n\n']],
  ['empty text', [delta({ role: 'assistant', content: '' })]],
  ['empty thinking', [delta({ reasoning_content: '' })]],
  ['a tool call whose arguments never continue', [delta({ tool_calls: [call] })]],
  ['chunks without choices', [chunk({ id: 'x', model: 'm', choices: [] })]],
  ['token counts', [chunk({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })]],
  ['named events without data', ['event: ping\n\n']],
  ['numbers of events', ['id: 1\nretry: 1000\n\n']],
  ['pieces of one event', ['data: {"choices":', ' ']],
  ['pieces of a reply without events', ['{', ' ']],
];

test.for(silences)('in openai(), %s count as silence', async ([, pieces]) => {
  const { seen, serve } = served(pieces);
  expect(await outcomeAfter(openai({ model: 'm', fetch: serve, timeoutMs }), 2_000)).toMatchObject(
    timedOut,
  );
  expect(seen.cancelled).toBe(true);
});

const quiet = [
  ['comments', [': keep-alive\n\n']],
  ['empty lines', ['\n\n']],
  ['named events without data', ['event: ping\n\n']],
  ['numbers of events', ['id: 1\nretry: 1000\n\n']],
  ['pieces of one event', ['data: {"', ' ']],
] as const;

test.for(
  httpProviders.flatMap((row) =>
    quiet.map(([what, after]) => [row.name, what, after, row] as const),
  ),
)('in %s(), %s after a text count as silence', async ([, , after, { model, wire }]) => {
  const { seen, serve } = served([unfinished(wire, { text: ['word'] }).join(''), ...after]);
  expect(await outcomeAfter(model({ model: 'm', fetch: serve, timeoutMs }), 3_000)).toMatchObject(
    timedOut,
  );
  expect(seen.cancelled).toBe(true);
});

test('an error text that arrives in small pieces is cut off after the timeout', async () => {
  const { seen, serve } = served([' '], 500);
  expect(await outcomeAfter(openai({ model: 'm', fetch: serve, timeoutMs }), 2_000)).toMatchObject(
    timedOut,
  );
  expect(seen.cancelled).toBe(true);
});

test('comments are accepted as long as content arrives before the timeout', async () => {
  const pieces = Array.from({ length: 10 }, () => [': ping\n\n', word]).flat();
  const { serve } = served([
    ...pieces,
    `${delta({ content: 'end' })}data: [DONE]\n\n`,
    ': ping\n\n',
  ]);
  const model = openai({ model: 'm', fetch: serve, timeoutMs });
  expect(await outcomeAfter(model, 20_000)).toBe(`${'word '.repeat(10)}end`);
});

test('the timeout for the first content begins with the headers', async () => {
  const { serve } = served(['\n', `${word}data: [DONE]\n\n`]);
  const late: Fetch = async (...request) => {
    await new Promise((resolve) => setTimeout(resolve, 900));
    return serve(...request);
  };
  expect(await outcomeAfter(openai({ model: 'm', fetch: late, timeoutMs }), 4_000)).toBe('word ');
});

test('the time between reads by the reader does not count as silence', async () => {
  const { serve } = served([': ping\n\n', word, ': ping\n\n', `${word}data: [DONE]\n\n`]);
  const model = openai({ model: 'm', fetch: serve, timeoutMs });
  let text = '';
  const reading = (async () => {
    for await (const event of new ReActAgent({ name: 'a', model }).stream('Hi')) {
      if (event.type === 'reasoning-chunk') text += event.delta;
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    }
  })();
  await clock.advance(100_000);
  await reading;
  expect(text).toBe('word word ');
});

type Part = { readonly type: string } & Readonly<Record<string, unknown>>;

test.for<[what: string, parts: readonly Part[]]>([
  ['raw parts', [{ type: 'raw', rawValue: {} }]],
  ['empty text', [{ type: 'text-delta', id: 't', delta: '' }]],
  ['the starts of blocks', [{ type: 'text-start', id: 't' }]],
  ['metadata', [{ type: 'response-metadata', id: 'r' }]],
  ['raw parts after text', [{ type: 'text-delta', id: 't', delta: 'Hi' }, { type: 'raw' }]],
])('in fromAiSdk(), %s count as silence', async ([, parts]) => {
  const seen = { cancelled: false };
  const model = fromAiSdk(
    {
      specificationVersion: 'v4',
      provider: 'p',
      modelId: 'm',
      supportedUrls: {},
      doStream: async () => ({ stream: paced(parts, seen) }),
    } as never,
    { timeoutMs },
  );
  expect(await outcomeAfter(model, 2_000)).toMatchObject(timedOut);
  expect(seen.cancelled).toBe(true);
});

test.for<[what: string, deltas: readonly ModelDelta[]]>([
  ['empty arrays', []],
  ['empty text', [{ type: 'text', id: 't', delta: '' }]],
  ['empty arguments', [{ type: 'tool-input', index: 0, delta: '' }]],
])('in modelTimeout(), %s count as silence', async ([, deltas]) => {
  for (const first of [[], [{ type: 'text', id: 't', delta: 'Hi' }]] as const) {
    const custom: ChatModel = {
      provider: 'p',
      modelId: 'm',
      features: { tools: true, media: [] },
      async *stream() {
        yield first;
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
          yield deltas;
        }
      },
    };
    const silence = modelTimeout({ firstDeltaMs: timeoutMs, silenceMs: timeoutMs });
    expect(await outcomeAfter(silence.wrapModel(custom), 2_000)).toMatchObject(timedOut);
  }
});
