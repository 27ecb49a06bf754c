import { createParser } from 'eventsource-parser';
import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { SseParser } from './sse-parser.ts';

const recorded = import.meta.glob<string>(
  '../../../../../test/fixtures/provider-streams/*.{txt,sse}',
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
);

const streams = Object.entries(recorded).map(([path, text]): [string, string] => [
  path.slice(path.lastIndexOf('/') + 1),
  path.endsWith('.sse')
    ? text
    : text.replace(/^(?=.)/gm, 'data: ').replaceAll('\n', '\n\n') + '\n\ndata: [DONE]\n\n',
]);

const nasty: Record<string, string> = {
  'CR LF': 'data: a\r\ndata: b\r\n\r\nevent: e\r\ndata: c\r\n\r\n',
  CR: 'data: a\rdata: b\r\revent: e\rdata: c\r\r',
  'mixed ends': 'data: a\r\n\ndata: b\n\r\ndata: c\r\r\ndata: d\n\r',
  'many blank lines': '\n\n\r\r\r\n\r\n\ndata: x\n\n\n\n\ndata: y\n\n',
  comments: ': one\n:\n:data: no\ndata: yes\n: two\n\n: three\n\n',
  'no colon': 'data\n\ndata\ndata\n\nevent\ndata: x\n\nnonsense\n\n',
  spaces: 'data:a\n\ndata:  b\n\n data: c\n\ndata : d\n\nevent:  e\ndata:f\n\n',
  colons: 'data: {"a":"b:c"}\n\ndata:: x\n\n',
  'event without data': 'event: lost\n\ndata: plain\n\n',
  'the last event name counts': 'event: a\nevent: b\ndata: x\n\n',
  'id and retry': 'id: 1\nretry: 10\ndata: x\n\n',
  'almost fields': 'dat: a\ndata_: b\ndatax\neventx: y\nDATA: z\n\n',
  'byte order mark': '\uFEFFdata: first\n\ndata: \uFEFFkept\n\n',
  scripts: 'data: 東京は晴れ 서울 🌤️👩‍💻 \u2028\u0085\n\n',
  NUL: 'data: a\u0000b\n\n',
  unfinished: 'data: whole\n\ndata: cut',
};

const encoder = new TextEncoder();

const parse = (pieces: Iterable<Uint8Array>): string => {
  const parser = new SseParser();
  return JSON.stringify([...pieces].flatMap((piece) => parser.push(piece)));
};

/**
 * Runs the reference parser. The text is passed without a byte order mark. A colon is appended,
 * because the reference handles a final carriage return only if text follows.
 */
const reference = (text: string): string => {
  const events: { event: string; data: string }[] = [];
  createParser({ onEvent: ({ event = '', data }) => events.push({ event, data }) }).feed(
    `${text.replace(/^\uFEFF/, '')}:`,
  );
  return JSON.stringify(events);
};

function* everySoMany(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}

/** Number of places where a recorded stream is cut. */
const cuts = extent({ quick: 80, full: 2000 });

test.each(streams)(
  '%s: SseParser emits the same events as eventsource-parser, wherever the stream is cut',
  (_, text) => {
    const bytes = encoder.encode(text);
    const expected = reference(text);
    expect(JSON.parse(expected).length).toBeGreaterThan(2);
    const stride = Math.max(1, Math.floor(bytes.length / cuts));
    for (let cut = 0; cut <= bytes.length; cut += stride) {
      if (parse([bytes.subarray(0, cut), bytes.subarray(cut)]) !== expected)
        expect.unreachable(`differs when cut at byte ${cut}`);
    }
    for (const size of [1, 2, 3, 7, 64, 1024])
      expect(parse(everySoMany(bytes, size)) === expected, `pieces of ${size}`).toBe(true);
  },
);

test.each(Object.entries(nasty))(
  '%s: SseParser emits the same events as eventsource-parser, cut at any two bytes',
  (_, text) => {
    const bytes = encoder.encode(text);
    const expected = reference(text);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        expect(
          parse([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]),
        ).toBe(expected);
      }
    }
    expect(parse(everySoMany(bytes, 1))).toBe(expected);
  },
);

test('a carriage return ends a line without waiting for the next byte', () => {
  const parser = new SseParser();
  expect(parser.push(encoder.encode('data: x\r\r'))).toEqual([{ event: '', data: 'x' }]);
  expect(parser.push(encoder.encode('\ndata: y\r\n\r'))).toEqual([{ event: '', data: 'y' }]);
});

test.each([
  ['data: [DONE]', { event: '', data: '[DONE]' }],
  ['data: [DONE]\n', { event: '', data: '[DONE]' }],
  ['event: error\ndata: a\ndata: b', { event: 'error', data: 'a\nb' }],
  ['data: [DONE]\n\n', undefined],
  ['event: lost', undefined],
  ['', undefined],
])('at the end of the stream, %j gives the event %j', (text, event) => {
  const parser = new SseParser();
  parser.push(encoder.encode(text));
  expect(parser.end()).toEqual(event);
});

test('an incomplete character at the end becomes a replacement character', () => {
  const parser = new SseParser();
  parser.push(encoder.encode('data: 東').subarray(0, -1));
  expect(parser.end()).toEqual({ event: '', data: '\uFFFD' });
});

test('SseParser takes linear time', () => {
  const parser = new SseParser();
  const piece = encoder.encode('x'.repeat(64));
  parser.push(encoder.encode('data: '));
  for (let count = 0; count < 200_000; count++) parser.push(piece);
  const [event] = parser.push(encoder.encode('\n\n'));
  expect(event?.data.length).toBe(200_000 * 64);
});
