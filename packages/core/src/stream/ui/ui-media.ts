import type { ContentBlock, MediaBlock } from '../../message/content-block.ts';
import { isMedia, toUrl } from '../../message/media.ts';

/** AI SDK's part for a file. A chunk of the same shape adds it to a message. */
export type UiFile = {
  readonly type: 'file';
  readonly mediaType: string;
  readonly url: string;
  readonly filename?: string;
};

export function toFilePart({ type, source, name }: MediaBlock): UiFile {
  const mediaType =
    source.mediaType ?? (type === 'file' ? 'application/octet-stream' : `${type}/*`);
  return {
    type: 'file',
    mediaType,
    url: toUrl(source),
    ...(name === undefined ? {} : { filename: name }),
  };
}

/** Returns a file for each medium in a reply or in the output of a tool. */
export function filesIn(content: string | readonly ContentBlock[]): readonly UiFile[] {
  return typeof content === 'string' ? [] : content.filter(isMedia).map(toFilePart);
}
