import type { MediaBlock } from '../msg.ts';

/** Size of an image, in pixels. */
interface ImageSize {
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
  const data =
    source.type === 'url'
      ? source.url.slice(0, headLength).replace(/^data:[^,]*,/, '')
      : source.data;
  try {
    const size = sizeIn(atob(data.slice(0, Math.min(headLength, data.length) & ~3)));
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    // The data ends before the size, or is not base64, such as a URL other than `data:`.
    return undefined;
  }
}

/** Reads the size by the first bytes of each format. Throws a `RangeError` if the data ends. */
function sizeIn(head: string): ImageSize | undefined {
  const bytes = new DataView(new ArrayBuffer(head.length));
  for (let at = 0; at < head.length; at++) bytes.setUint8(at, head.charCodeAt(at));
  if (head.startsWith('\x89PNG'))
    return { width: bytes.getUint32(16), height: bytes.getUint32(20) };
  if (head.startsWith('GIF8'))
    return { width: bytes.getUint16(6, true), height: bytes.getUint16(8, true) };
  if (head.startsWith('\xff\xd8')) return jpegSize(bytes);
  return head.slice(8, 12) === 'WEBP' ? webpSize(head.slice(12, 16), bytes) : undefined;
}

/** Reads the size of a WebP image. Each kind of file stores the size in another place. */
function webpSize(kind: string, bytes: DataView): ImageSize | undefined {
  const number = (at: number): number => bytes.getUint32(at, true);
  // A lossy image, a lossless one, and one with further features.
  if (kind === 'VP8 ') return { width: number(26) & 0x3fff, height: (number(26) >>> 16) & 0x3fff };
  if (kind === 'VP8L')
    return { width: (number(21) & 0x3fff) + 1, height: ((number(21) >>> 14) & 0x3fff) + 1 };
  return kind === 'VP8X'
    ? { width: (number(24) & 0xffffff) + 1, height: (number(26) >>> 8) + 1 }
    : undefined;
}

/** Skips the segments of a JPEG file up to the frame segment, which has the size. */
function jpegSize(bytes: DataView): ImageSize | undefined {
  for (let at = 2; bytes.getUint8(at) === 0xff; at += 2 + bytes.getUint16(at + 2)) {
    const marker = bytes.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.getUint16(at + 7), height: bytes.getUint16(at + 5) };
  }
  return undefined;
}
