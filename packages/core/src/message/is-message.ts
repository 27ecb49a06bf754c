import type { ContentBlock, ToolResult, Msg, MessageContent } from './msg.ts';
import { isRecord, isObjectOrArray } from './json.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns whether a value has the shape of a message. */
export function isMessage(value: unknown): value is Msg {
  return (
    isObjectOrArray(value) &&
    typeof value['id'] === 'string' &&
    ['system', 'user', 'assistant', 'tool'].includes(value['role'] as string) &&
    Array.isArray(value['content']) &&
    value['content'].every(isBlock)
  );
}

/**
 * Returns whether a value has the fields that a block of its type requires. `parseMessages` checks
 * the other fields.
 */
export function isBlock(value: unknown): value is ContentBlock {
  if (!isObjectOrArray(value)) return false;
  const { type, source, output } = value;
  switch (type) {
    case 'text':
    case 'thinking':
      return typeof value[type] === 'string';
    case 'tool_use':
      return typeof value['id'] === 'string';
    case 'tool_result':
      return typeof value['toolUseId'] === 'string' && isOutput(output);
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return isObjectOrArray(source) && typeof (source['url'] ?? source['data']) === 'string';
    default:
      return false;
  }
}

/** Same as `isBlock`, but only for a tool result. */
export function isToolResult(value: unknown): value is ToolResult {
  return isBlock(value) && value.type === 'tool_result';
}

/** Returns whether a value can be a tool result's output. */
export function isOutput(value: unknown): value is MessageContent {
  return typeof value === 'string' || (Array.isArray(value) && value.every(isBlock));
}

/**
 * Returns whether all fields of a block in a tool's output are valid, so that the log can store it.
 */
export function isCompleteBlock(block: ContentBlock): boolean {
  const fields = block as object as Fields;
  const { type, name = '', signature = '', source, providerMetadata = {} } = fields;
  return (
    !String(type).startsWith('tool_') &&
    typeof name === 'string' &&
    typeof signature === 'string' &&
    (!isObjectOrArray(source) || isCompleteSource(source)) &&
    isRecord(providerMetadata)
  );
}

/** Returns whether the source of a medium has a known type and the media type that it needs. */
function isCompleteSource({ type, mediaType }: Fields): boolean {
  return type === 'url' || (type === 'base64' && typeof mediaType === 'string');
}
