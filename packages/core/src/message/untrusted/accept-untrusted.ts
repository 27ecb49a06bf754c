import { AgentError } from '../../error/agent-error.ts';
import { inlineSource, isMedia } from '../media/media.ts';
import { withMetadata, type MessageMetadata } from '../metadata.ts';
import type { ContentBlock, MediaBlock, MediaSource, Msg } from '../msg.ts';
import {
  blockRules,
  messageRules,
  metadataRules,
  sourceRules,
  type FieldRule,
  type FieldRules,
  type Sender,
} from './untrusted-fields.ts';

/** Who has sent something untrusted, and which error refuses it. */
export interface AcceptOptions {
  readonly sender: Sender;
  /**
   * Function that creates the error for a refused field. `field`: path such as
   * `content[0].source.url`. Default: `INVALID_MESSAGE`.
   */
  readonly errorOf?: (field: string, problem: string) => AgentError;
}

/**
 * Returns the accepted fields of an untrusted message: see `untrusted-fields.ts`. The message must
 * have the right types: see `parseMessages`. Marks imported messages of an assistant or a tool. Throws
 * `INVALID_MESSAGE`, or the error of `errorOf`, for a refused field.
 */
export function acceptMessage(message: Msg, options: AcceptOptions): Msg {
  const { content, metadata, ...fields } = acceptFields(message, messageRules, options);
  const blocks = content.map((block, index) => acceptBlock(block, options, `content[${index}]`));
  const accepted: Msg = { ...fields, content: blocks };
  if (options.sender !== 'import') return accepted;
  const clientFields: MessageMetadata = metadata ?? {};
  const mark: MessageMetadata = message.role === 'user' ? {} : { imported: true };
  return withMetadata(accepted, { ...acceptFields(clientFields, metadataRules, options), ...mark });
}

/** Returns the accepted fields of an untrusted block. Same errors as `acceptMessage`. */
export function acceptBlock<B extends ContentBlock>(
  block: B,
  options: AcceptOptions,
  path = '',
): B {
  const prefix = path && `${path}.`;
  const rules = blockRules[block.type] as FieldRules<ContentBlock>;
  const accepted = acceptFields<ContentBlock>(block, rules, options, prefix);
  return { ...accepted, ...innerFields(accepted, options, prefix) } as ContentBlock as B;
}

/** Returns the accepted media source, or the accepted blocks of a result. */
function innerFields(block: ContentBlock, options: AcceptOptions, prefix: string): object {
  if (isMedia(block)) return { source: acceptSource(block, options, `${prefix}source.`) };
  if (block.type !== 'tool_result' || typeof block.output === 'string') return {};
  return { output: acceptOutput(block.output, options, `${prefix}output`) };
}

/** Returns the blocks of an untrusted result with their accepted fields. Same errors as `acceptMessage`. */
export function acceptOutput(
  blocks: readonly ContentBlock[],
  options: AcceptOptions,
  path = 'output',
): readonly ContentBlock[] {
  return blocks.map((block, index) => {
    // Models do not get such blocks.
    if (block.type === 'tool_use' || block.type === 'tool_result')
      refuse(options, `${path}[${index}]`, 'must not be a tool call or a result');
    return acceptBlock(block, options, `${path}[${index}]`);
  });
}

function acceptSource(block: MediaBlock, options: AcceptOptions, prefix: string): MediaSource {
  const source = inlineSource(block.source);
  if (!Object.hasOwn(sourceRules, source.type))
    refuse(options, `${prefix}type`, 'must be "url" or "base64"');
  const rules = sourceRules[source.type] as FieldRules<MediaSource>;
  return acceptFields<MediaSource>(source, rules, options, prefix, block);
}

/** Returns the accepted fields. `prefix`: path of the fields. `owner`: see `FieldContext`. */
function acceptFields<T extends object>(
  fields: T,
  rules: FieldRules<T>,
  options: AcceptOptions,
  prefix = '',
  owner: object = fields,
): T {
  const { sender } = options;
  const entries = Object.entries(fields).flatMap(([field, value]) => {
    const rule: FieldRule | false = Object.hasOwn(rules, field) && rules[field as keyof T];
    const check = typeof rule === 'object' ? rule[sender] : rule;
    if (!check || value === undefined) return [];
    const refuseField = (problem: string): never => refuse(options, prefix + field, problem);
    const passed = check(value as never, { owner, refuse: refuseField });
    return passed === undefined ? [] : [[field, passed] as const];
  });
  return Object.fromEntries(entries) as T;
}

function refuse(
  { errorOf = invalidMessage }: AcceptOptions,
  field: string,
  problem: string,
): never {
  throw errorOf(field, problem);
}

function invalidMessage(field: string, problem: string): AgentError {
  return new AgentError('INVALID_MESSAGE', `The message's ${field} ${problem}.`, {
    details: { field },
  });
}
