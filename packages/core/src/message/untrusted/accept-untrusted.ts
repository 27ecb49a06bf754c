import { isMedia } from '../media/media.ts';
import { withMetadata, type MessageMetadata } from '../metadata.ts';
import type { ContentBlock, Msg } from '../msg.ts';
import { acceptSource } from './media-source.ts';
import { refuseField, type RefusalOptions } from './refuse-field.ts';
import {
  blockRules,
  messageRules,
  metadataRules,
  type FieldRule,
  type FieldRules,
  type Sender,
} from './untrusted-fields.ts';

/** Who has sent something untrusted, and which error refuses it. */
interface AcceptOptions extends RefusalOptions {
  readonly sender: Sender;
}

/**
 * Returns the accepted fields of an untrusted message: see `untrusted-fields.ts`. The message must
 * have the right types: see `parseMessages`. Marks imported messages of an assistant or a tool.
 * Throws `INVALID_MESSAGE`, or the error of `errorOf`, for a refused field.
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

/** Returns the accepted fields of the blocks in a result. Same errors as `acceptMessage`. */
export function acceptOutput(
  blocks: readonly ContentBlock[],
  options: AcceptOptions,
  path = 'output',
): readonly ContentBlock[] {
  return blocks.map((block, index) => {
    // Models do not get such blocks.
    if (block.type === 'tool_use' || block.type === 'tool_result')
      refuseField(options, `${path}[${index}]`, 'must not be a tool call or a result');
    return acceptBlock(block, options, `${path}[${index}]`);
  });
}

/** Returns the accepted fields of an object. `prefix`: its path, with a dot. */
function acceptFields<T extends object>(
  fields: T,
  rules: FieldRules<T>,
  options: AcceptOptions,
  prefix = '',
): T {
  const { sender } = options;
  const entries = Object.entries(fields).flatMap(([field, value]) => {
    const rule: FieldRule | false = Object.hasOwn(rules, field) && rules[field as keyof T];
    const check = typeof rule === 'object' ? rule[sender] : rule;
    if (!check || value === undefined) return [];
    const refuse = (problem: string): never => refuseField(options, prefix + field, problem);
    const accepted = check(value as never, { owner: fields, refuse });
    return accepted === undefined ? [] : [[field, accepted] as const];
  });
  return Object.fromEntries(entries) as T;
}
