import type { MediaBlock, MediaSource } from './content-block.ts';

/** A `data:` URL in base64 is inline data too. */
export function inlineSource(source: MediaSource): MediaSource {
  if (source.type === 'base64') return source;
  const head = /^data:([^;,]*)[^,]*;base64,/.exec(source.url.slice(0, 256));
  return head
    ? { type: 'base64', mediaType: head[1] || 'text/plain', data: source.url.slice(head[0].length) }
    : source;
}

/**
 * What stands for a medium where only text can go: `[image: cat.png]`, `[audio: https://…]`,
 * `[file: report.pdf https://…]`; inline data without a name shows its media type.
 */
export function mediaPlaceholder({ type, source, name }: MediaBlock): string {
  const known = inlineSource(source);
  const place = known.type === 'url' && !known.url.startsWith('data:') && known.url;
  return `[${type}: ${[name, place].filter(Boolean).join(' ') || (known.mediaType ?? 'inline')}]`;
}
