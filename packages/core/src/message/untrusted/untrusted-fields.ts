import { fieldsOf } from '../../error/agent-error.ts';
import { argumentsIn } from '../call-arguments.ts';
import { isRecord, isSameJson, omitUndefined, pickFields, type JsonValue } from '../json.ts';
import type { MessageMetadata } from '../metadata.ts';
import type { ContentBlock, MediaBlock, Msg } from '../msg.ts';
import {
  dataPartsOf,
  hostedToolOf,
  imageDetailFields,
  imageDetailOf,
  isDataPart,
  sourcesOf,
  type HostedTool,
  type Source,
} from '../provider-metadata.ts';
import { addressProblem } from './media-source.ts';

/**
 * Who sends untrusted data:
 *
 * - `client`: sends a whole history to `/v1`.
 * - `import`: sends a conversation without a valid signature.
 * - `page`: sends the result of a tool that runs on the page.
 */
export type Sender = 'client' | 'import' | 'page';

/** Where the field is, and how a check refuses its value. */
interface FieldContext {
  /** The object that has the field. */
  readonly owner: object;
  /** Throws the error for a value that must not pass. `problem`: what the value must be. */
  readonly refuse: (problem: string) => never;
}

/** Returns the accepted part of a value. `undefined`: the field is left out. */
type Check = (value: never, context: FieldContext) => unknown;

/** A check for all senders, or one for each sender that may set the field. */
export type FieldRule = Check | { readonly [S in Sender]?: Check };

/** A rule for each field, so that a new field does not compile without one. */
export type FieldRules<T> = { readonly [Field in keyof T]-?: FieldRule };

/** The members of a union whose `type` may be `T`. */
type Typed<T, U> = U extends { readonly type: infer V } ? (T extends V ? U : never) : never;

/** Accepts any value. Guards check it later, or it has no meaning for a model. */
const pass: Check = (value) => value;

/** Leaves the field out. */
const drop: Check = () => undefined;

const callId: Check = (id, { refuse }) =>
  isCallId(id) ? id : refuse('must be 1 to 256 visible characters');

const text: Check = (value) => (typeof value === 'string' ? value : undefined);

/** Leaves out raw arguments that differ from the parsed arguments, which a person approves. */
const sameAsInput: Check = (raw, { owner }) => {
  const { input } = owner as { readonly input: JsonValue };
  return isSameJson(argumentsIn(raw).input, input) ? raw : undefined;
};

const counts: Check = (usage) =>
  isRecord(usage)
    ? pickFields(usage, (_name, count) => Number.isFinite(count) && (count as number) >= 0)
    : undefined;

/*
 * Formatters send provider metadata to the model's server unchanged, and no guard sees it. It can
 * be a system message, or the id of an item that the server has stored for another user. So these
 * checks accept only what a page shows, and the detail of an image.
 */

/** Sources of a text. A page makes links of them. */
const sources: Check = (_metadata, { owner }) => {
  const shownSources = sourcesOf(owner as ContentBlock).filter(isShown);
  return shownSources.length ? { sources: shownSources } : undefined;
};

function isShown(source: Source): boolean {
  const { type, url = '', title = '' } = fieldsOf(source);
  if (typeof url !== 'string' || typeof title !== 'string') return false;
  return type === 'url' ? addressProblem(url) === undefined : type === 'document';
}

/** A tool call that a provider has run. Without further metadata, no server gets it. */
const hostedTool: Check = (_metadata, { owner }) => {
  const { id, name, input, output, error } = (hostedToolOf(owner as ContentBlock) ??
    {}) as Partial<HostedTool>;
  if (typeof id !== 'string' || typeof name !== 'string' || input === undefined) return undefined;
  const errorText = typeof error === 'string' ? error : undefined;
  return { hostedTool: omitUndefined({ id, name, input, output, error: errorText }) };
};

/** The mark of a JSON result, and the data parts that its tool has shown. */
const shownResult: Check = (metadata: Readonly<Record<string, unknown>>, { owner }) => {
  const dataParts = dataPartsOf(owner as never).filter(isDataPart);
  const fields = {
    ...(metadata['json'] === true && { json: true }),
    ...(dataParts.length && { dataParts }),
  };
  return Object.keys(fields).length ? fields : undefined;
};

/** How closely the model looks at an image: a field of the API of `/v1`. */
const imageDetail: Check = (_metadata, { owner }) => {
  const detail = imageDetailOf(owner as MediaBlock);
  return /^[a-z]{1,16}$/.test(detail ?? '')
    ? imageDetailFields(detail).providerMetadata
    : undefined;
};

const mediaRules: FieldRules<MediaBlock> = {
  type: pass,
  // `acceptSource` reads the fields of the source.
  source: pass,
  name: pass,
  providerMetadata: { client: imageDetail, import: imageDetail },
};

/** The rules for the fields of each block. */
export const blockRules: {
  readonly [T in ContentBlock['type']]: FieldRules<Typed<T, ContentBlock>>;
} = {
  text: { type: pass, text: pass, providerMetadata: { import: sources } },
  thinking: {
    type: pass,
    thinking: pass,
    // The provider that has signed the thinking checks it. Others ignore it.
    signature: { import: pass },
    providerMetadata: { import: hostedTool },
  },
  image: mediaRules,
  audio: mediaRules,
  video: mediaRules,
  file: mediaRules,
  tool_use: {
    type: pass,
    id: callId,
    name: pass,
    input: pass,
    raw: sameAsInput,
    providerMetadata: drop,
  },
  tool_result: {
    type: pass,
    toolUseId: callId,
    name: pass,
    // `acceptBlock` reads the blocks of the output by these rules.
    output: pass,
    state: pass,
    providerMetadata: { import: shownResult },
  },
};

/** The rules for the fields of a message. */
export const messageRules: FieldRules<Msg> = {
  id: pass,
  // The endpoint turns system messages into messages of the user, unless `/v1` may keep them.
  role: pass,
  name: pass,
  // `acceptMessage` reads the blocks by `blockRules`.
  content: pass,
  // `acceptMessage` reads the fields by `metadataRules`.
  metadata: { import: pass },
  createdAt: pass,
};

/** The rules for the fields of a message's metadata. Fields without a rule are left out. */
export const metadataRules: FieldRules<MessageMetadata> = {
  runId: text,
  partial: text,
  reason: text,
  finishReason: text,
  usage: counts,
  // Only the library writes the rest. It changes what the model reads, or who wrote the message.
  output: drop,
  outputJson: drop,
  correction: drop,
  invalidReply: drop,
  written: drop,
  edited: drop,
  origin: drop,
  cached: drop,
  imported: drop,
  operator: drop,
  warnings: drop,
};

/** Returns whether a value is a valid tool call id: 1 to 256 visible characters. */
export function isCallId(id: unknown): id is string {
  return typeof id === 'string' && /^[!-~]{1,256}$/.test(id);
}
