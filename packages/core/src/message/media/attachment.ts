import { AgentError, invalidInput } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { nonNegative, optional, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { MediaBlock, MediaSource } from '../msg.ts';
import { percentDecode } from '../text.ts';
import { inlineSource, mediaKind, toBase64 } from './media.ts';
import { imageSize } from './image-size.ts';

/** Type and name of an `attachment()`, and how large it may be. */
export interface AttachmentOptions {
  /** Name of the file. Default: the last part of a URL's path, if it has an extension. */
  readonly name?: string;
  /**
   * Media type of the file. Default: the type in a `data:` URL, else the type for the extension of
   * the name, else `application/octet-stream`.
   */
  readonly mediaType?: string;
  /**
   * Maximum number of pixels of an inline PNG, JPEG, GIF or WebP image. Default: 10 million. Other
   * images have no limit, because their size is unknown. Source: OxyGent.
   */
  readonly maxImagePixels?: number;
  /** Maximum number of bytes of an inline video. Default: 12 MiB. Source: OxyGent. */
  readonly maxVideoBytes?: number;
  /**
   * Maximum number of bytes of other inline files, except images and audio. Default: 2 MiB. Source:
   * OxyGent.
   */
  readonly maxFileBytes?: number;
}

/**
 * Creates a message block for a medium. The media type decides its kind: image, audio, video or
 * file. All other types are files, such as PDF, tables, documents and code. A URL stays a URL, and
 * the model's server fetches it. Bytes and `data:` URLs are sent inline.
 *
 * Throws `PAYLOAD_TOO_LARGE` for inline data above its limit, with `limit` and `size` in `details`.
 * `Infinity` means no limit. Throws `INVALID_INPUT` for a URL that no server can fetch. Source:
 * OxyGent, attachments by extension.
 */
export function attachment(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: AttachmentOptions = {},
): MediaBlock {
  checkOptions('attachment()', options, attachmentOptions, 'INVALID_INPUT');
  const { mediaType } = options;
  if (mediaType !== undefined && !/^[\w.+-]+\/[\w.+-]+(?:;|$)/.test(mediaType))
    throw invalidInput(`"${mediaType}" is not a media type.`);
  const bytes = bytesOf(source);
  const block = bytes
    ? bytesBlock(bytes, options)
    : addressBlock(typeof source === 'string' ? source : String(Object(source).href), options);
  if (block.source.type === 'base64') checkSize(block, block.source.data, options);
  return block;
}

const attachmentOptions: OptionTable<AttachmentOptions> = {
  name: optional(string),
  mediaType: optional(string),
  maxImagePixels: optional(nonNegative),
  maxVideoBytes: optional(nonNegative),
  maxFileBytes: optional(nonNegative),
};

const unknownType = 'application/octet-stream';

function addressBlock(address: string, options: AttachmentOptions): MediaBlock {
  if (address.startsWith('data:')) return dataBlock(address, options);
  const scheme = /^([a-z][a-z\d+.-]+):\/\//i.exec(address)?.[1]?.toLowerCase();
  // Only a program on this machine could read such an address.
  if (!scheme || scheme === 'file' || !URL.canParse(address)) {
    throw invalidInput('attachment(): a model’s server cannot fetch this URL. Pass the bytes.');
  }
  const encoded = new URL(address).pathname.split('/').at(-1)!;
  const last = percentDecode(encoded) ?? encoded;
  const { name = /\.\w+$/.test(last) ? last : undefined } = options;
  const mediaType = options.mediaType ?? typeOf(name);
  return blockOf({ type: 'url', url: address, ...(mediaType && { mediaType }) }, name);
}

function dataBlock(url: string, { name, mediaType }: AttachmentOptions): MediaBlock {
  const inline = inlineSource({ type: 'url', url });
  if (inline.type === 'url' || !inline.data)
    throw invalidInput('attachment(): a data: URL must have data, in base64.');
  // By its standard, a `data:` URL without a type contains text. The name of the file is more
  // precise.
  const typeOfName = /^data:[;,]/.test(url) ? typeOf(name) : undefined;
  return blockOf({ ...inline, mediaType: mediaType ?? typeOfName ?? inline.mediaType }, name);
}

function bytesBlock(
  bytes: Uint8Array,
  { name, mediaType = typeOf(name) ?? unknownType }: AttachmentOptions,
): MediaBlock {
  if (!bytes.length) throw invalidInput('attachment(): the data is empty.');
  return blockOf({ type: 'base64', mediaType, data: toBase64(bytes) }, name);
}

function bytesOf(source: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(source))
    return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  // `instanceof` would be false for a buffer from another realm.
  return Object.prototype.toString.call(source) === '[object ArrayBuffer]'
    ? new Uint8Array(source as ArrayBuffer)
    : undefined;
}

function blockOf(source: MediaSource, name: string | undefined): MediaBlock {
  const type = mediaKind((source.mediaType ?? unknownType).toLowerCase());
  return { type, source, ...(name !== undefined && { name }) };
}

function checkSize(block: MediaBlock, data: string, options: AttachmentOptions): void {
  const { maxImagePixels = 10_000_000 } = options;
  const { maxVideoBytes = 12 * 1024 ** 2, maxFileBytes = 2 * 1024 ** 2 } = options;
  const limits = { image: maxImagePixels, video: maxVideoBytes, file: maxFileBytes };
  const { type, name = `An attachment (${type})` } = block;
  const limit = type === 'audio' ? Infinity : limits[type];
  const { width = 0, height = 0 } = imageSize(block) ?? {};
  const bytes = Math.floor((data.length * 3) / 4) - /=*$/.exec(data.slice(-2))![0].length;
  const size = type === 'image' ? width * height : bytes;
  if (size <= limit) return;
  const what = `${name} has ${size} ${type === 'image' ? 'pixels' : 'bytes'}`;
  const details = { size, limit };
  throw new AgentError('PAYLOAD_TOO_LARGE', `${what}; the limit is ${limit}.`, { details });
}

/** File extensions of each media type, for names and URLs. */
const extensionsOf: Readonly<Record<string, string>> = {
  'image/png': 'png apng',
  'image/jpeg': 'jpg jpeg jfif',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/bmp': 'bmp',
  'image/tiff': 'tif tiff',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/heif': 'heif',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg oga',
  'audio/opus': 'opus',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
  'video/mp4': 'mp4 m4v',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/x-matroska': 'mkv',
  'video/x-msvideo': 'avi',
  'video/mpeg': 'mpeg mpg',
  'video/x-flv': 'flv',
  'video/x-ms-wmv': 'wmv',
  'video/3gpp': '3gp',
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx xlsm',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/rtf': 'rtf',
  'application/epub+zip': 'epub',
  'text/html': 'html htm',
  'text/markdown': 'md markdown',
  'text/css': 'css',
  'text/javascript': 'js mjs cjs',
  'application/json': 'json',
  'application/xml': 'xml',
  'application/yaml': 'yaml yml',
  'application/zip': 'zip',
  'text/plain':
    'txt text log ini toml sql sh bash ps1 py ipynb ts tsx jsx vue java kt kts ' +
    'scala groovy c h cc cpp hpp cs go rs rb php lua r swift dart',
};

/** Returns the media type for a name's extension, or `undefined` if it is unknown. */
function typeOf(name = ''): string | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const types = Object.keys(extensionsOf);
  return types.find((type) => extensionsOf[type]!.split(' ').includes(extension));
}
