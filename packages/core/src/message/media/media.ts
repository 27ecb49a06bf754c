import {
  blocksOf,
  type ContentBlock,
  type MediaBlock,
  type MediaSource,
  type MessageContent,
} from '../msg.ts';

/** Returns inline data if the source is a base64 `data:` URL; otherwise the source itself. */
export function inlineSource(source: MediaSource): MediaSource {
  if (source.type === 'base64') return source;
  const head = /^data:([^;,]*)[^,]*;base64,/i.exec(source.url.slice(0, 256));
  return head
    ? { type: 'base64', mediaType: head[1] || 'text/plain', data: source.url.slice(head[0].length) }
    : source;
}

/**
 * Returns a text placeholder for media where only text is allowed: `[image: cat.png]`, `[audio:
 * https://…]`, `[file: report.pdf https://…]`. Inline data without a name shows its media type.
 */
export function mediaPlaceholder({ type, source, name }: MediaBlock): string {
  const inline = inlineSource(source);
  const url = inline.type === 'url' && !inline.url.startsWith('data:') && inline.url;
  return `[${type}: ${[name, url].filter(Boolean).join(' ') || (inline.mediaType ?? 'inline')}]`;
}

/** Returns content as text, with a placeholder for each media block. */
export function contentText(content: MessageContent): string {
  const texts = blocksOf(content).flatMap((block) => {
    if (block.type === 'text') return block.text;
    return isMedia(block) ? mediaPlaceholder(block) : [];
  });
  return texts.join('\n');
}

/** Returns the URL of a media source. Inline data becomes a `data:` URL. */
export function toUrl(source: MediaSource): string {
  return source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

export function isMedia(block: ContentBlock): block is MediaBlock {
  return 'source' in block;
}

/**
 * Returns the block type for a media type: `image/png` is an `image`, `application/pdf` a `file`.
 */
export function mediaKind(mediaType: string): MediaBlock['type'] {
  const kind = mediaType.split('/', 1)[0];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}

/** Returns the media type of a block: its own, or a general one for the kind of medium. */
export function mediaTypeOf({ type, source }: MediaBlock): string {
  return source.mediaType ?? (type === 'file' ? 'application/octet-stream' : `${type}/*`);
}

/** Encodes bytes in parts, because a function call accepts a limited number of arguments. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += 0x2000)
    text += String.fromCharCode(...bytes.subarray(start, start + 0x2000));
  return btoa(text);
}
