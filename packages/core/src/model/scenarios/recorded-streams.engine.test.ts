import { expect, test } from 'vitest';
import goldenText from '@test/fixtures/golden/openai-replies.json?raw';
import type { ModelDelta } from '../chat-model.ts';
import { EventReply } from '../http/event-reply.ts';
import { OpenAiDecoder } from '../openai/openai-decoder.ts';

const recorded = import.meta.glob<string>(
  '../../../../../test/fixtures/provider-streams/*.{txt,sse}',
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
);

const golden = JSON.parse(goldenText) as Record<string, unknown>;

const streams = Object.entries(recorded).map(
  ([path, text]): [name: string, bytes: Uint8Array<ArrayBuffer>] => [
    path.replace(/^.*\//, '').replace(/\.(chunks\.txt|sse)$/, ''),
    new TextEncoder().encode(
      path.endsWith('.sse')
        ? text
        : text.replace(/^(?=.)/gm, 'data: ').replaceAll('\n', '\n\n') + '\n\ndata: [DONE]\n\n',
    ),
  ],
);

/**
 * Returns the deltas of the reply. Joins adjacent deltas of a block or tool call, because the size
 * of deltas depends on the cuts.
 */
function replay(bytes: Uint8Array, cuts: readonly number[]): readonly ModelDelta[] {
  const reply = new EventReply(new OpenAiDecoder());
  const deltas: ModelDelta[] = [];
  let start = 0;
  for (const cut of [...cuts, bytes.length]) {
    deltas.push(...reply.push(bytes.subarray(start, cut)));
    start = cut;
  }
  deltas.push(...reply.end({ url: 'https://host/v1' }));
  expect(reply.error).toBeUndefined();
  return deltas;
}

const cutsFrom = (first: number, step: number, length: number): number[] =>
  Array.from(
    { length: Math.max(0, Math.ceil((length - first) / step)) },
    (_, index) => first + index * step,
  );

test('all recorded streams exist', () => {
  expect(streams.map(([name]) => name).sort()).toEqual(Object.keys(golden).sort());
});

test.each(streams)('the recorded stream %s gives the same deltas byte by byte', (_, bytes) => {
  expect(replay(bytes, cutsFrom(1, 1, bytes.length))).toEqual(replay(bytes, []));
});

test.each(streams)(
  'the recorded stream %s gives the same deltas when cut at every byte boundary',
  (_, bytes) => {
    const whole = JSON.stringify(replay(bytes, []));
    const step = 64;
    // Each replay cuts every 64 bytes, and the next replay starts one byte later. So each byte
    // boundary is cut once.
    const firsts = cutsFrom(1, 1, step + 1);
    expect(
      firsts.filter(
        (first) => JSON.stringify(replay(bytes, cutsFrom(first, step, bytes.length))) !== whole,
      ),
    ).toEqual([]);
  },
);
