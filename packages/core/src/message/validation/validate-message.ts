import { AgentError } from '../../error/agent-error.ts';
import { isObject, isPlain } from '../json/is-record.ts';
import type { Msg } from '../msg.ts';
import { toolUsesOf } from '../message-text.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Maximum nesting depth. Deeper values are refused, because no message needs more and a cycle would
 * never end.
 */
const maxDepth = 100;

/**
 * Checks messages from outside: a store, another page, a request. Returns the same array if each
 * item is a `Msg`. Otherwise throws `INVALID_MESSAGE`. The text and `details` of the error contain
 * the message's index, its id and the first wrong field.
 *
 * A tool call must be in an assistant message, and a tool result in a tool message. A tool message
 * must have a result. A model would never get misplaced blocks. Unknown fields, blocks that a role
 * does not need and empty content are allowed. This function checks each message alone.
 * `parseHistory` checks a whole conversation.
 */
export function parseMessages(value: unknown): readonly Msg[] {
  if (!Array.isArray(value))
    throw new AgentError('INVALID_MESSAGE', 'The messages must be an array');
  for (const [index, message] of value.entries()) {
    const issue = issueOf(message);
    if (issue) throw invalidMessage(index, message, issue);
  }
  return value;
}

/**
 * Checks a whole conversation from outside, before an agent uses it. Makes the checks of
 * `parseMessages`. Also, each message and each tool call must have a unique id, because results
 * name the id of their tool call. Returns the same array, or throws `INVALID_MESSAGE` with index,
 * id and field.
 *
 * A tool call without a result is allowed. A result without a tool call, as in a trimmed history,
 * is also allowed, but models do not get it.
 */
export function parseHistory(value: unknown): readonly Msg[] {
  const messages = parseMessages(value);
  const ids = new Map<string, number>();
  const toolUseIds = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    const before = ids.get(message.id);
    if (before !== undefined)
      throw invalidMessage(index, message, {
        field: 'id',
        expected: `different from the id of message ${before}`,
      });
    ids.set(message.id, index);
    for (const toolUse of toolUsesOf(message)) {
      const field = `content[${message.content.indexOf(toolUse)}].id`;
      const asked = toolUseIds.get(toolUse.id);
      if (asked !== undefined)
        throw invalidMessage(index, message, {
          field,
          expected: `different from the id of a tool call in message ${asked}`,
        });
      toolUseIds.set(toolUse.id, index);
    }
  }
  return messages;
}

/**
 * Problem of a message. `field`: path such as `content[0].text`, empty for the message itself.
 * `expected`: the valid values, in words.
 */
export interface Issue {
  readonly field: string;
  readonly expected: string;
}

/** Returns the error that names the message and the field. */
function invalidMessage(index: number, message: unknown, { field, expected }: Issue): AgentError {
  const given = isObject(message) ? message['id'] : undefined;
  const id = typeof given === 'string' ? { id: given } : undefined;
  const named = `Message ${index}${id ? ` (id ${JSON.stringify(given)})` : ''}`;
  const problem = `${named}: ${field || 'the message'} must be ${expected}`;
  return new AgentError('INVALID_MESSAGE', problem, { details: { index, field, ...id } });
}

function issueOf(message: unknown): Issue | undefined {
  if (!isObject(message)) return { field: '', expected: 'an object' };
  return (
    name(message, 'id', '') ??
    oneOf(message, 'role', ['system', 'user', 'assistant', 'tool'], '') ??
    optionalString(message, 'name', '') ??
    optionalJsonObject(message, 'metadata', '') ??
    check(isTime(message['createdAt']), 'createdAt', 'an ISO 8601 time') ??
    blocksIssue(message['content'], 'content', 0) ??
    placeIssue(message['role'], message['content'] as readonly Fields[])
  );
}

function placeIssue(role: unknown, blocks: readonly Fields[]): Issue | undefined {
  for (const [index, { type }] of blocks.entries()) {
    const place = blockRoles[type as string];
    if (place === undefined || place === role) continue;
    const expected = `in a message with role ${place}, because it is a ${String(type)}`;
    return { field: `content[${index}]`, expected };
  }
  const hasResult = role !== 'tool' || blocks.some(({ type }) => type === 'tool_result');
  return check(hasResult, 'content', 'blocks that include a tool_result, because the role is tool');
}

/** The role of the messages that may have a block of a type. Other blocks may be in all messages. */
const blockRoles: Readonly<Record<string, string>> = { tool_use: 'assistant', tool_result: 'tool' };

function blocksIssue(blocks: unknown, path: string, depth: number): Issue | undefined {
  if (!Array.isArray(blocks)) return { field: path, expected: 'an array of content blocks' };
  if (depth > maxDepth) return { field: path, expected: 'nested less deeply' };
  for (const [index, block] of blocks.entries()) {
    const issue = blockIssue(block, `${path}[${index}]`, depth);
    if (issue) return issue;
  }
  return undefined;
}

function blockIssue(block: unknown, path: string, depth: number): Issue | undefined {
  if (!isObject(block)) return { field: path, expected: 'a content block' };
  return (
    bodyIssue(block, `${path}.`, depth) ?? optionalJsonObject(block, 'providerMetadata', `${path}.`)
  );
}

function bodyIssue(block: Fields, path: string, depth: number): Issue | undefined {
  switch (block['type']) {
    case 'text':
      return string(block, 'text', path);
    case 'thinking':
      return string(block, 'thinking', path) ?? optionalString(block, 'signature', path);
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return sourceIssue(block['source'], `${path}source`) ?? optionalString(block, 'name', path);
    case 'tool_use':
      return (
        name(block, 'id', path) ??
        string(block, 'name', path) ??
        check(isJson(block['input'], 0), `${path}input`, 'a JSON value') ??
        optionalString(block, 'raw', path)
      );
    case 'tool_result':
      return (
        name(block, 'toolUseId', path) ??
        string(block, 'name', path) ??
        oneOf(block, 'state', ['success', 'error', 'denied', 'interrupted'], path) ??
        (typeof block['output'] === 'string'
          ? undefined
          : outputIssue(block['output'], `${path}output`, depth))
      );
    default:
      return { field: `${path}type`, expected: 'the type of a content block' };
  }
}

function outputIssue(output: unknown, path: string, depth: number): Issue | undefined {
  return Array.isArray(output)
    ? blocksIssue(output, path, depth + 1)
    : { field: path, expected: 'a string or an array of content blocks' };
}

function sourceIssue(source: unknown, path: string): Issue | undefined {
  if (!isObject(source)) return { field: path, expected: 'an object' };
  if (source['type'] === 'url')
    return string(source, 'url', `${path}.`) ?? optionalString(source, 'mediaType', `${path}.`);
  if (source['type'] === 'base64')
    return string(source, 'data', `${path}.`) ?? string(source, 'mediaType', `${path}.`);
  return { field: `${path}.type`, expected: '"url" or "base64"' };
}

function check(ok: boolean, field: string, expected: string): Issue | undefined {
  return ok ? undefined : { field, expected };
}

function string(fields: Fields, key: string, path: string): Issue | undefined {
  return check(typeof fields[key] === 'string', path + key, 'a string');
}

/** Checks a string that is used as a key, so it must not be empty. */
function name(fields: Fields, key: string, path: string): Issue | undefined {
  const value = fields[key];
  return check(typeof value === 'string' && value !== '', path + key, 'a string that is not empty');
}

function optionalString(fields: Fields, key: string, path: string): Issue | undefined {
  return fields[key] === undefined ? undefined : string(fields, key, path);
}

function optionalJsonObject(fields: Fields, key: string, path: string): Issue | undefined {
  const value = fields[key];
  return check(
    value === undefined || (isObject(value) && isJson(value, 0)),
    path + key,
    'a JSON object',
  );
}

function oneOf(
  fields: Fields,
  key: string,
  values: readonly string[],
  path: string,
): Issue | undefined {
  return check(values.includes(fields[key] as string), path + key, `one of ${values.join(', ')}`);
}

function isTime(value: unknown): boolean {
  return (
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))
  );
}

/**
 * Returns whether a value is plain JSON. Allows a property that is `undefined`, because JSON leaves
 * it out.
 */
function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > maxDepth) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  return (
    isPlain(value) &&
    Object.values(value).every((item) => item === undefined || isJson(item, depth + 1))
  );
}
