import { expect, test } from 'vitest';
import { redactStream } from './redact.ts';

const secrets = ['sk-long-secret-12345', 'geheimnis-ß😀'];

/** Sends the bytes in chunks of this size, and returns the chunks that come out. */
async function redacted(text: string, size: number): Promise<readonly Uint8Array[]> {
  const bytes = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.slice(index * size, (index + 1) * size),
  );
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const out: Uint8Array[] = [];
  for await (const chunk of stream.pipeThrough(redactStream(secrets))) out.push(chunk);
  return out;
}

/** Returns the text of the chunks. Each chunk ends with a whole character. */
function textOf(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return chunks.map((chunk) => decoder.decode(chunk)).join('');
}

test.each([
  ['a sk-long-secret-12345 b', 'a *** b'],
  ['sk-long-secret-12345sk-long-secret-12345', '******'],
  ['sk-sk-sk-long-secret-12345', 'sk-sk-***'],
  ['sk-lon', 'sk-lon'],
  ['\ufeff東京 geheimnis-ß😀, geheimnis-ß', '\ufeff東京 ***, geheimnis-ß'],
  ['', ''],
])('a stream of %j becomes %j, however it is cut', async (text, expected) => {
  for (let size = 1; size <= text.length + 1; size++)
    expect(textOf(await redacted(text, size))).toBe(expected);
});

test('a chunk without the beginning of a secret is passed on at once', async () => {
  const chunks = await redacted('data: one\n\ndata: two\n\n', 11);
  expect(chunks).toHaveLength(2);
});
