import { expect, test } from 'vitest';
import { userMessage } from '../msg.ts';
import { parseMessages } from '../validate-message.ts';
import { attachment, type AttachmentOptions } from './attachment.ts';

const bytes = new Uint8Array([1, 2, 3]);
const at = 'https://example.com/files/';

test.each<[name: string, type: string, mediaType: string]>([
  ['a.png', 'image', 'image/png'],
  ['A.JPEG', 'image', 'image/jpeg'],
  ['a.mp3', 'audio', 'audio/mpeg'],
  ['a.b.mp4', 'video', 'video/mp4'],
  ['report.pdf', 'file', 'application/pdf'],
  ['table.csv', 'file', 'text/csv'],
  ['table.xlsx', 'file', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['letter.doc', 'file', 'application/msword'],
  ['main.ts', 'file', 'text/plain'],
  ['main.py', 'file', 'text/plain'],
  ['data.json', 'file', 'application/json'],
  ['a.unknown', 'file', 'application/octet-stream'],
  ['png', 'file', 'application/octet-stream'],
  ['.constructor', 'file', 'application/octet-stream'],
])(
  'attachment() of bytes named %s has the block type %s and the media type %s',
  (name, type, mediaType) => {
    expect(attachment(bytes, { name })).toEqual({
      type,
      name,
      source: { type: 'base64', mediaType, data: 'AQID' },
    });
  },
);

test.each<[url: string, options: AttachmentOptions, block: object]>([
  [
    `${at}a%20b.png?size=1#x`,
    {},
    { type: 'image', name: 'a b.png', source: { mediaType: 'image/png' } },
  ],
  [`${at}%E0%A4%A.mp4`, {}, { type: 'video', name: '%E0%A4%A.mp4' }],
  [
    `${at}clip`,
    { mediaType: 'video/mp4; codecs="avc1"' },
    { type: 'video', source: { mediaType: 'video/mp4; codecs="avc1"' } },
  ],
  [
    `${at}clip`,
    { name: 'x.webm' },
    { type: 'video', name: 'x.webm', source: { mediaType: 'video/webm' } },
  ],
  [`${at}a.png`, { mediaType: 'application/pdf' }, { type: 'file', name: 'a.png' }],
  [
    'gs://bucket/a.pdf',
    {},
    { type: 'file', name: 'a.pdf', source: { mediaType: 'application/pdf' } },
  ],
])('attachment() reads the address %s with the options %j', (url, options, block) => {
  const made = attachment(url, options);
  expect(made).toMatchObject({
    ...block,
    source: { type: 'url', url, ...('source' in block && (block.source as object)) },
  });
});

test('an address without a file name becomes a file block without name and media type', () => {
  expect(attachment(new URL(`${at}`))).toEqual({ type: 'file', source: { type: 'url', url: at } });
});

test('a data: URL becomes inline data', () => {
  const block = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AQID' } };
  expect(attachment('data:image/png;base64,AQID')).toEqual(block);
  expect(attachment('data:;base64,AQID', { name: 'a.png' })).toEqual({ ...block, name: 'a.png' });
  expect(attachment('data:image/gif;base64,AQID', { mediaType: 'image/png' })).toEqual(block);
  expect(attachment('data:;base64,AQID')).toMatchObject({
    type: 'file',
    source: { mediaType: 'text/plain' },
  });
});

test('attachment() reads each kind of buffer, and only the bytes of a view', () => {
  const buffer = new Uint8Array([0, 1, 2, 3, 0]).buffer;
  expect(attachment(new Uint8Array(buffer, 1, 3))).toMatchObject({ source: { data: 'AQID' } });
  expect(attachment(new DataView(buffer, 1, 3) as never)).toMatchObject({
    source: { data: 'AQID' },
  });
  expect(attachment(bytes.buffer)).toMatchObject({ source: { data: 'AQID' } });
  const many = Uint8Array.from({ length: 100_000 }, (_, n) => n % 256);
  const { source } = attachment(many);
  expect(
    source.type === 'base64' && Uint8Array.from(atob(source.data), (char) => char.charCodeAt(0)),
  ).toEqual(many);
});

test('attachment() returns blocks that are valid in messages', () => {
  const blocks = [
    attachment(`${at}a.png`),
    attachment(bytes, { name: 'a.pdf' }),
    attachment('data:;base64,AQID'),
  ];
  expect(() => parseMessages([userMessage(blocks)])).not.toThrow();
});

/** Returns the header of a PNG with this width and height. */
function png(width: number, height: number): Uint8Array {
  const head = [...'\x89PNG\r\n\x1a\n\0\0\0\rIHDR'].map((char) => char.charCodeAt(0));
  return new Uint8Array([...head, 0, 0, width >> 8, width & 255, 0, 0, height >> 8, height & 255]);
}

test('attachment() has the limits of the reference, and the error states size and limit', () => {
  expect(attachment(png(4000, 2500), { name: 'a.png' })).toMatchObject({ type: 'image' });
  const image = {
    code: 'PAYLOAD_TOO_LARGE',
    message: 'a.png has 10004000 pixels; the limit is 10000000.',
    details: { size: 10_004_000, limit: 10_000_000 },
  };
  expect(() => attachment(png(4000, 2501), { name: 'a.png' })).toThrow(
    expect.objectContaining(image),
  );
  expect(attachment(new Uint8Array(2 * 1024 ** 2), { name: 'a.pdf' })).toMatchObject({
    type: 'file',
  });
  const file = {
    code: 'PAYLOAD_TOO_LARGE',
    message: expect.stringContaining('2097153 bytes'),
    details: { size: 2_097_153, limit: 2_097_152 },
  };
  for (const more of [1, 2, 3]) {
    const large = () => attachment(new Uint8Array(2 * 1024 ** 2 + more), { name: 'a.pdf' });
    expect(large).toThrow(
      expect.objectContaining(
        more === 1 ? file : { details: { size: 2_097_152 + more, limit: 2_097_152 } },
      ),
    );
  }
  const video = new Uint8Array(12 * 1024 ** 2 + 1);
  expect(() => attachment(video, { name: 'a.mp4' })).toThrow(
    expect.objectContaining({ details: { size: 12_582_913, limit: 12_582_912 } }),
  );
  expect(attachment(video, { name: 'a.mp3' })).toMatchObject({ type: 'audio' });
});

test('other limits may be set; a data: URL is measured, but an address is not fetched to measure it', () => {
  expect(() => attachment(bytes, { name: 'a.pdf', maxFileBytes: 2 })).toThrow(
    expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
  );
  expect(() => attachment('data:video/mp4;base64,AQID', { maxVideoBytes: 2 })).toThrow(
    'An attachment (video) has 3 bytes',
  );
  expect(() => attachment(png(10, 10), { mediaType: 'image/png', maxImagePixels: 99 })).toThrow(
    '100 pixels',
  );
  expect(attachment(png(5000, 5000), { name: 'a.png', maxImagePixels: Infinity })).toMatchObject({
    type: 'image',
  });
  expect(attachment(`${at}a.mp4`, { maxVideoBytes: 0 })).toMatchObject({ type: 'video' });
});

test.each<[given: unknown, options: unknown]>([
  ['', {}],
  ['cat.png', {}],
  ['/files/cat.png', {}],
  ['C:\\cat.png', {}],
  ['file:///cat.png', {}],
  ['blob:https://example.com/1', {}],
  ['javascript:alert(1)', {}],
  ['https://', {}],
  ['data:text/plain,hello', {}],
  ['data:image/png;base64,', {}],
  [new Uint8Array(), {}],
  [undefined, {}],
  [null, {}],
  [5, {}],
  [{ href: 5 }, {}],
  [Object.create(null), {}],
  [bytes, null],
  [bytes, { name: 5 }],
  [bytes, { mediaType: 'png' }],
  [bytes, { maxFileBytes: '2' }],
])('attachment() rejects %j with the options %j', (given, options) => {
  const error = expect.objectContaining({ name: 'AgentError', code: 'INVALID_INPUT' });
  expect(() => attachment(given as string, options as AttachmentOptions)).toThrow(error);
});
