import { AgentError } from '../../error/agent-error.ts';
import { inlineSource, isMedia } from '../media/media.ts';
import { withMetadata, type MessageMetadata } from '../metadata.ts';
import type { ContentBlock, MediaBlock, MediaSource, Msg } from '../msg.ts';
import {
  acceptFields,
  blockRules,
  messageRules,
  metadataRules,
  sourceRules,
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
  const { sender } = door;
  const { content, metadata = {}, ...fields } = acceptFields(message, messageRules, {
    sender,
    owner: message,
    refuse: refuserOf(door, ''),
  });
  const blocks = content.map((block, index) => acceptBlock(block, door, `content[${index}]`));
  const accepted: Msg = { ...fields, content: blocks };
  if (sender !== 'import') return accepted;
  const rules = metadataRules as FieldRules<object>;
  const refuse = refuserOf(door, 'metadata.');
  const kept = acceptFields<object>(metadata, rules, { sender, owner: metadata, refuse });
  const mark: MessageMetadata = message.role === 'user' ? {} : { imported: true };
  return withMetadata({ ...accepted, metadata: { ...kept } }, mark);
}

/** Returns what passes of an untrusted block. Same errors as `acceptMessage`. */
export function acceptBlock<B extends ContentBlock>(block: B, door: Door, path = ''): B {
  const { sender } = door;
  const prefix = path && `${path}.`;
  const rules = blockRules[block.type] as FieldRules<ContentBlock>;
  const refuse = refuserOf(door, prefix);
  const accepted = acceptFields<ContentBlock>(block, rules, { sender, owner: block, refuse });
  if (isMedia(accepted)) {
    const source = acceptSource(accepted, door, prefix);
    return { ...accepted, source } as ContentBlock as B;
  }
  if (accepted.type !== 'tool_result' || typeof accepted.output === 'string') return accepted as B;
  const output = acceptOutput(accepted.output, door, `${prefix}output`);
  return { ...accepted, output } as ContentBlock as B;
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
      refuserOf(door, path)(`[${index}]`, 'must not be a tool call or a result');
    return acceptBlock(block, door, `${path}[${index}]`);
  });
}

function acceptSource(block: MediaBlock, door: Door, prefix: string): MediaSource {
  const source = inlineSource(block.source);
  const rules = (sourceRules[source.type] ?? {}) as FieldRules<MediaSource>;
  const refuse = refuserOf(door, `${prefix}source.`);
  return acceptFields<MediaSource>(source, rules, { sender: door.sender, owner: block, refuse });
}

function refuserOf(
  { errorOf = invalidMessage }: Door,
  prefix: string,
): (field: string, problem: string) => never {
  return (field, problem) => {
    throw errorOf(prefix + field, problem);
  };
}

function invalidMessage(field: string, problem: string): AgentError {
  return new AgentError('INVALID_MESSAGE', `The message's ${field} ${problem}.`, {
    details: { field },
  });
}
