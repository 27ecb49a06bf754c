import { expect, test } from 'vitest';
import { userMessage, type MediaBlock } from '../msg.ts';
import { countMessage } from '../../tokens/count-message.ts';
import { imageSize } from './image-size.ts';
import { arc } from '../../tokens/arc-profile.ts';
import { cl100k, claude3, claude5, gemma3, generic, o200k } from '../../tokens/profiles.ts';

/** The start of image files of 640 by 300 pixels, written by a browser, in base64. */
const heads = {
  png: 'iVBORw0KGgoAAAANSUhEUgAAAoAAAAEsCAYAAABT+wIrAAAQAElEQVR4Aezb6ZLb',
  'webp, lossy': 'UklGRroBAABXRUJQVlA4IK4BAABQLACdASqAAiwBP/3+/3+/uzayIAgD8D+JaW7h',
  'webp, lossless': 'UklGRhwAAABXRUJQVlA4TA8AAAAvf8JKAAcQUcD+ByKi/wEA',
  'webp, extended': 'UklGRrwDAABXRUJQVlA4WAoAAAAwAAAAfwIAKwEASUNDUMgBAAAAAAHIAAAAAAQw',
  jpeg:
    '/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAAAABhY3NwAAAAAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAA' +
    'ABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1' +
    'AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAP' +
    'KnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADb/' +
    '2wBDAP//////////////////////////////////////////////////////////////////////////////////////2wBDAf////////////' +
    '//////////////////////////////////////////////////////////////////////////wAARCAEsAoADASIAAhEBAxEB/8QA',
  gif: btoa('GIF89a\x80\x02\x2c\x01\xf7\0\0'),
} as const;

function image(data: string, more: Partial<MediaBlock> = {}): MediaBlock {
  return { type: 'image', source: { type: 'base64', mediaType: 'image/png', data }, ...more };
}

/** Returns a PNG of that size, in base64. */
function png(width: number, height: number): string {
  const bytes = [0, 0, width >> 8, width & 255, 0, 0, height >> 8, height & 255];
  return btoa(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${String.fromCharCode(...bytes)}`);
}

test.for(Object.entries(heads))(
  'imageSize() reads the size of an image of the kind %s',
  ([, data]) => {
    expect(imageSize(image(data))).toEqual({ width: 640, height: 300 });
    expect(
      imageSize(image('', { source: { type: 'url', url: `data:image/png;base64,${data}` } })),
    ).toEqual({ width: 640, height: 300 });
  },
);

test.for(['', 'x', 'xx', 'xxx'])(
  'reads the size of a large file, even if parameters of its data URL shift the base64 groups (%s)',
  (parameter) => {
    const data = heads.png + 'A'.repeat(1_000_000);
    const url = `data:image/png;name=${parameter};base64,${data}`;
    expect(imageSize(image(data))).toEqual({ width: 640, height: 300 });
    expect(imageSize(image('', { source: { type: 'url', url } }))).toEqual({
      width: 640,
      height: 300,
    });
  },
);

test.for(Object.entries(heads))(
  'a truncated image of the kind %s has either no size or the right one',
  ([, data]) => {
    for (let length = 0; length < data.length; length += 4) {
      const size = imageSize(image(data.slice(0, length))) ?? { width: 640, height: 300 };
      expect(size).toEqual({ width: 640, height: 300 });
    }
  },
);

test('other data has no size', () => {
  for (const data of [
    '',
    '!!!',
    'A'.repeat(1_000_000),
    btoa('RIFF....WEBPVP9 0123456789012345'),
    btoa('\xff\xd8'.repeat(100)),
    png(0, 300),
  ]) {
    expect(imageSize(image(data))).toBeUndefined();
  }
  expect(imageSize(image(heads.png, { type: 'file' }))).toBeUndefined();
  expect(
    imageSize(image('', { source: { type: 'url', url: 'https://example.com/cat.png' } })),
  ).toBeUndefined();
});

test('segments of length zero do not block the search', () => {
  expect(imageSize(image(btoa(`\xff\xd8${'\xff\xe0\0\0'.repeat(20_000)}`)))).toBeUndefined();
});

test('an inline image costs by its pixels with GPT and Claude, up to a maximum price, and the same in any size with others', () => {
  const cost = (width: number, height: number): readonly number[] =>
    [o200k, claude3, claude5, cl100k, gemma3, generic, arc].map(
      (profile) =>
        countMessage(userMessage([image(png(width, height))]), profile) - profile.perMessage,
    );
  expect(cost(100, 100)).toEqual([269, 268, 268, 1600, 1100, 1600, 1600]);
  expect(cost(700, 750)).toEqual([1005, 955, 955, 1600, 1100, 1600, 1600]);
  expect(cost(4000, 3000)).toEqual([3000, 1600, 3000, 1600, 1100, 1600, 1600]);
});

test('the estimate is at least what providers charged for these sizes', () => {
  const charged = [
    [o200k, 1024, 1024, 1229],
    [o200k, 1920, 1080, 2448],
    [claude3, 1024, 1024, 1434],
    [claude5, 1024, 1024, 1446],
  ] as const;
  for (const [profile, width, height, tokens] of charged) {
    expect(countMessage(userMessage([image(png(width, height))]), profile)).toBeGreaterThanOrEqual(
      tokens,
    );
  }
});
