import type { MediaBlock } from '../content-block.ts';

/**
 * Returns the block type for a media type: `image/png` is an `image`, `application/pdf` a `file`.
 */
export function mediaKind(mediaType: string): MediaBlock['type'] {
  const kind = mediaType.split('/', 1)[0];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}
