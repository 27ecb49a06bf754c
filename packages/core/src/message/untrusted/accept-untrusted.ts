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

/** A door at which something untrusted comes in. */
export interface Door {
  readonly sender: Sender;
  /**
   * Function that creates the error for a field that must not pass. `field`: path such as
   * `content[0].source.url`. Default: `INVALID_MESSAGE`.
   */
  readonly errorOf?: (field: string, problem: string) => AgentError;
}

/**
 * Returns what passes of an untrusted message, see `untrusted-fields.ts`. The message must have the
 * right types: see `parseMessages`. Marks what an assistant or a tool says in an import. Throws
 * `INVALID_MESSAGE`, or the error of the door, for a medium or an id that must not pass.
 */
export function acceptMessage(message: Msg, door: Door): Msg {
  const { content, metadata, ...fields } = acceptFields(message, messageRules, door);
  const blocks = content.map((block, index) => acceptBlock(block, door, `content[${index}]`));
  const accepted: Msg = { ...fields, content: blocks };
  if (door.sender !== 'import') return accepted;
  const clientFields: MessageMetadata = metadata ?? {};
  const mark: MessageMetadata = message.role === 'user' ? {} : { imported: true };
  return withMetadata(accepted, { ...acceptFields(clientFields, metadataRules, door), ...mark });
}

/** Returns what passes of an untrusted block. Same errors as `acceptMessage`. */
export function acceptBlock<B extends ContentBlock>(block: B, door: Door, path = ''): B {
  const prefix = path && `${path}.`;
  const rules = blockRules[block.type] as FieldRules<ContentBlock>;
  const accepted = acceptFields<ContentBlock>(block, rules, door, prefix);
  return { ...accepted, ...innerFields(accepted, door, prefix) } as ContentBlock as B;
}

/** Returns the fields of a block that have fields or blocks of their own. */
function innerFields(block: ContentBlock, door: Door, prefix: string): object {
  if (isMedia(block)) return { source: acceptSource(block, door, `${prefix}source.`) };
  if (block.type !== 'tool_result' || typeof block.output === 'string') return {};
  return { output: acceptOutput(block.output, door, `${prefix}output`) };
}

/** Returns what passes of the blocks in an untrusted result. Same errors as `acceptMessage`. */
export function acceptOutput(
  blocks: readonly ContentBlock[],
  door: Door,
  path = 'output',
): readonly ContentBlock[] {
  return blocks.map((block, index) => {
    // Models do not get such blocks.
    if (block.type === 'tool_use' || block.type === 'tool_result')
      refuse(door, `${path}[${index}]`, 'must not be a tool call or a result');
    return acceptBlock(block, door, `${path}[${index}]`);
  });
}

function acceptSource(block: MediaBlock, door: Door, prefix: string): MediaSource {
  const source = inlineSource(block.source);
  if (!Object.hasOwn(sourceRules, source.type))
    refuse(door, `${prefix}type`, 'must be "url" or "base64"');
  const rules = sourceRules[source.type] as FieldRules<MediaSource>;
  return acceptFields<MediaSource>(source, rules, door, prefix, block);
}

/** Returns the fields that pass. `prefix`: path of the fields. `owner`: see `FieldSetup`. */
function acceptFields<T extends object>(
  fields: T,
  rules: FieldRules<T>,
  door: Door,
  prefix = '',
  owner: object = fields,
): T {
  const { sender } = door;
  const entries = Object.entries(fields).flatMap(([field, value]) => {
    const rule: FieldRule | false = Object.hasOwn(rules, field) && rules[field as keyof T];
    const check = typeof rule === 'object' ? rule[sender] : rule;
    if (!check || value === undefined) return [];
    const refuseField = (problem: string): never => refuse(door, prefix + field, problem);
    const passed = check(value as never, { owner, refuse: refuseField });
    return passed === undefined ? [] : [[field, passed] as const];
  });
  return Object.fromEntries(entries) as T;
}

function refuse({ errorOf = invalidMessage }: Door, field: string, problem: string): never {
  throw errorOf(field, problem);
}

function invalidMessage(field: string, problem: string): AgentError {
  return new AgentError('INVALID_MESSAGE', `The message's ${field} ${problem}.`, {
    details: { field },
  });
}
