import type { MediaBlock } from '../message/msg.ts';

/** Size of an image, in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Number of base64 characters to read, which are 96 kB. A JPEG file has its size after a thumbnail
 * and a color profile, so the size may be far from the start.
 */
const headLength = 131_072;

/**
 * Reads the size of an inline PNG, GIF, WebP or JPEG image from the first bytes of the image.
 * Returns `undefined` for other media, and for an image with a URL other than `data:`.
 */
export function imageSize({ type, source }: MediaBlock): ImageSize | undefined {
  if (type !== 'image') return undefined;
  // `decode` returns an empty string for a URL other than `data:`, because a colon is not base64.
  const data =
    source.type === 'url'
      ? source.url.slice(0, headLength).replace(/^data:[^,]*,/, '')
      : source.data;
  const head = decode(data.slice(0, headLength));
  const size = pngSize(head) ?? gifSize(head) ?? webpSize(head) ?? jpegSize(head);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/**
 * Decodes all complete groups of four base64 characters. Returns an empty string if the input is
 * not base64.
 */
function decode(base64: string): string {
  try {
    return atob(base64.slice(0, base64.length & ~3));
  } catch {
    return '';
  }
}

function pngSize(head: string): ImageSize | undefined {
  if (!head.startsWith('\x89PNG') || head.length < 24) return undefined;
  return { width: number(head, 16, 4), height: number(head, 20, 4) };
}

function gifSize(head: string): ImageSize | undefined {
  if (!head.startsWith('GIF8') || head.length < 10) return undefined;
  return { width: littleEndian(head, 6, 2), height: littleEndian(head, 8, 2) };
}

/**
 * Reads the size of a WebP image. Lossy, lossless and extended files store the size in different
 * places.
 */
function webpSize(head: string): ImageSize | undefined {
  if (head.slice(8, 12) !== 'WEBP' || head.length < 30) return undefined;
  const kind = head.slice(12, 16);
  if (kind === 'VP8 ')
    return {
      width: littleEndian(head, 26, 2) & 0x3fff,
      height: littleEndian(head, 28, 2) & 0x3fff,
    };
  if (kind === 'VP8X')
    return { width: littleEndian(head, 24, 3) + 1, height: littleEndian(head, 27, 3) + 1 };
  const bits = littleEndian(head, 21, 4);
  return kind === 'VP8L'
    ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    : undefined;
}

/** Skips the segments of a JPEG file up to the frame segment, which has the size. */
function jpegSize(head: string): ImageSize | undefined {
  if (!head.startsWith('\xff\xd8')) return undefined;
  for (
    let at = 2;
    at + 9 <= head.length && head[at] === '\xff';
    at += 2 + number(head, at + 2, 2)
  ) {
    const marker = head.charCodeAt(at + 1);
    const isFrame =
      marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: number(head, at + 7, 2), height: number(head, at + 5, 2) };
  }
  return undefined;
}

/** Reads an unsigned big-endian number of `size` bytes. */
function number(bytes: string, at: number, size: number): number {
  let value = 0;
  for (let i = at; i < at + size; i++) value = value * 256 + bytes.charCodeAt(i);
  return value;
}

function littleEndian(bytes: string, at: number, size: number): number {
  let value = 0;
  for (let i = at + size; i-- > at;) value = value * 256 + bytes.charCodeAt(i);
  return value;
}
