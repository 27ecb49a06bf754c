import { expect, test } from 'vitest';
import { randomOf } from '@test/random-of.ts';
import { outcomeOf, type ModelOutcome } from '@test/support/model-outcome.ts';
import { openai } from '../openai.ts';

/** A request to llama.cpp's server and its reply, as it was recorded. */
interface Recorded {
  readonly request: { readonly stream: boolean; readonly max_tokens: number };
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const files = import.meta.glob<string>('../../../../../../test/fixtures/llama-cpp/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
});

const recorded = Object.entries(files).map(([path, text]): [name: string, Recorded] => [
  path.replace(/^.*\/|\.json$/g, ''),
  JSON.parse(text) as Recorded,
]);

const replies = recorded.filter(([, { status }]) => status === 200);

/** What a reader without a decoder finds in a body. */
interface Expected {
  readonly text: string;
  readonly reason: string;
  readonly usage: object;
}

interface WireReply {
  readonly choices: readonly {
    readonly delta?: { readonly content?: string | null };
    readonly message?: { readonly content: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

function expectedReply({ body }: Recorded): Expected {
  const lines = body.split('\n').map((line) => line.replace(/^data: /, ''));
  const chunks = lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as WireReply);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const usage = chunks.at(-1)!.usage!;
  return {
    text: choices.map(({ delta, message }) => (delta ?? message)?.content ?? '').join(''),
    reason: choices.at(-1)!.finish_reason!,
    usage: {
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      cachedInputTokens: usage.prompt_tokens_details.cached_tokens,
    },
  };
}

/** Asks a model whose server sends the recorded bytes in pieces of the given lengths. */
function replay(
  { status, contentType, body }: Recorded,
  nextLength: () => number,
): Promise<ModelOutcome> {
  const bytes = new TextEncoder().encode(body);
  let start = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = bytes.slice(start, start + nextLength());
      start += piece.length;
      if (piece.length) controller.enqueue(piece);
      else controller.close();
    },
  });
  const headers = { 'content-type': contentType };
  const fetch = () => Promise.resolve(new Response(stream, { status, headers }));
  return outcomeOf(openai({ model: 'smollm2', baseURL: 'http://llama/v1', apiKey: 'k', fetch }));
}

test('the fixtures of llama.cpp have replies and errors', () => {
  expect(replies.length).toBeGreaterThan(15);
  expect(recorded.length - replies.length).toBe(3);
});

test.each(replies)(
  'the reply %s of llama.cpp gives its text, reason and usage, whole, byte by byte and in pieces',
  async (_name, reply) => {
    const random = randomOf(reply.body.length);
    const expected = expectedReply(reply);
    const lengths = [
      () => Infinity,
      () => 1,
      ...Array(5).fill(() => 1 + Math.floor(random() * 90)),
    ];
    for (const nextLength of lengths) {
      const { text, thinking, calls, finish, error } = await replay(reply, nextLength);
      expect(error).toBeUndefined();
      expect({ text, reason: finish?.reason, usage: finish?.usage }).toEqual(expected);
      expect([thinking, calls]).toEqual(['', []]);
    }
  },
);

test.each<[string, unknown, string]>([
  ['error-context', 'MODEL_CONTEXT_LENGTH', 'exceeds the available context size'],
  ['error-image', expect.any(String), 'image input is not supported'],
  ['error-surrogate', 'MODEL_REQUEST', 'surrogate'],
])('the reply %s of llama.cpp is an error, however it is cut', async (name, code, text) => {
  const [, reply] = recorded.find(([each]) => each === name)!;
  for (const nextLength of [() => Infinity, () => 1]) {
    const { error } = await replay(reply, nextLength);
    expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
  }
});
