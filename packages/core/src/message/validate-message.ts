import { AgentError } from '../error/agent-error.ts';
import { isRecord, isPlain } from './json.ts';
import { toolUsesOf, type Msg } from './msg.ts';

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
  for (const [index, message] of value.entries()) checkMessage(message, failAt(index, message));
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
    const fail = failAt(index, message);
    const add = (indexes: Map<string, number>, id: string, field: string, what: string): void => {
      const firstIndex = indexes.get(id);
      if (firstIndex !== undefined) fail(field, `different from the id of ${what} ${firstIndex}`);
      indexes.set(id, index);
    };
    add(ids, message.id, 'id', 'message');
    for (const toolUse of toolUsesOf(message)) {
      const field = `content[${message.content.indexOf(toolUse)}].id`;
      add(toolUseIds, toolUse.id, field, 'a tool call in message');
    }
  }
  return messages;
}

/**
 * Throws the error for a wrong field of a message. `field`: path such as `content[0].text`, empty
 * for the message itself. `expected`: the valid values, in words.
 */
type Fail = (field: string, expected: string) => never;

function failAt(index: number, message: unknown): Fail {
  return (field, expected) => {
    const messageId = isRecord(message) ? message['id'] : undefined;
    const id = typeof messageId === 'string' ? { id: messageId } : undefined;
    const where = `Message ${index}${id ? ` (id ${JSON.stringify(messageId)})` : ''}`;
    const problem = `${where}: ${field || 'the message'} must be ${expected}`;
    throw new AgentError('INVALID_MESSAGE', problem, { details: { index, field, ...id } });
  };
}

/** Test of a field, and its valid values in words. */
type Rule = readonly [isValid: (value: unknown) => boolean, expected: string];
type Rules = Readonly<Record<string, Rule>>;

const text: Rule = [(value) => typeof value === 'string', 'a string'];
/** A string that is used as a key, so it must not be empty. */
const key: Rule = [
  (value) => typeof value === 'string' && value !== '',
  'a string that is not empty',
];
const json: Rule = [(value) => isJson(value, 0), 'a JSON value'];
const jsonObject: Rule = [(value) => isRecord(value) && isJson(value, 0), 'a JSON object'];

function optional([isValid, expected]: Rule): Rule {
  return [(value) => value === undefined || isValid(value), expected];
}

function oneOf(...values: readonly unknown[]): Rule {
  return [(value) => values.includes(value), `one of ${values.join(', ')}`];
}

const messageRules: Rules = {
  id: key,
  role: oneOf('system', 'user', 'assistant', 'tool'),
  name: optional(text),
  metadata: optional(jsonObject),
  createdAt: [isTime, 'an ISO 8601 time'],
};

const mediaRules: Rules = { source: [isRecord, 'an object'], name: optional(text) };

const blockRules: ReadonlyMap<unknown, Rules> = new Map(
  Object.entries<Rules>({
    text: { text },
    thinking: { thinking: text, signature: optional(text) },
    image: mediaRules,
    audio: mediaRules,
    video: mediaRules,
    file: mediaRules,
    tool_use: { id: key, name: text, input: json, raw: optional(text) },
    tool_result: {
      toolUseId: key,
      name: text,
      state: oneOf('success', 'error', 'denied', 'interrupted'),
      output: [
        (value) => typeof value === 'string' || Array.isArray(value),
        'a string or an array of content blocks',
      ],
    },
  }),
);

const anyBlockRules: Rules = { providerMetadata: optional(jsonObject) };

const sourceRules: ReadonlyMap<unknown, Rules> = new Map(
  Object.entries<Rules>({
    url: { url: text, mediaType: optional(text) },
    base64: { data: text, mediaType: text },
  }),
);

/**
 * The role of the messages that may have a block of a type. Other blocks may be in all messages.
 */
const blockRoles: Readonly<Record<string, string>> = { tool_use: 'assistant', tool_result: 'tool' };

function checkRules(fields: Fields, rules: Rules, path: string, fail: Fail): void {
  for (const [name, [isValid, expected]] of Object.entries(rules))
    if (!isValid(fields[name])) fail(path + name, expected);
}

function checkMessage(message: unknown, fail: Fail): void {
  if (!isRecord(message)) return fail('', 'an object');
  const { role, content } = message;
  checkRules(message, messageRules, '', fail);
  checkBlocks(content, 'content', 0, fail);
  checkRole(role, content as readonly Fields[], fail);
}

/** Checks that a message of this role may have these blocks. */
function checkRole(role: unknown, blocks: readonly Fields[], fail: Fail): void {
  for (const [index, { type }] of blocks.entries()) {
    const neededRole = blockRoles[type as string];
    if (neededRole !== undefined && neededRole !== role)
      fail(
        `content[${index}]`,
        `in a message with role ${neededRole}, because it is a ${String(type)}`,
      );
  }
  if (role === 'tool' && !blocks.some(({ type }) => type === 'tool_result'))
    fail('content', 'blocks that include a tool_result, because the role is tool');
}

function checkBlocks(blocks: unknown, path: string, depth: number, fail: Fail): void {
  if (!Array.isArray(blocks)) return fail(path, 'an array of content blocks');
  if (depth > maxDepth) fail(path, 'nested less deeply');
  for (const [index, block] of blocks.entries())
    checkBlock(block, `${path}[${index}]`, depth, fail);
}

function checkBlock(block: unknown, path: string, depth: number, fail: Fail): void {
  if (!isRecord(block)) return fail(path, 'a content block');
  const { type, source, output } = block;
  const rules = blockRules.get(type);
  if (!rules) return fail(`${path}.type`, 'the type of a content block');
  checkRules(block, rules, `${path}.`, fail);
  checkRules(block, anyBlockRules, `${path}.`, fail);
  if (type === 'tool_result' && typeof output !== 'string')
    checkBlocks(output, `${path}.output`, depth + 1, fail);
  if (rules === mediaRules) checkSource(source as Fields, `${path}.source.`, fail);
}

function checkSource(source: Fields, path: string, fail: Fail): void {
  const rules = sourceRules.get(source['type']);
  if (!rules) return fail(`${path}type`, '"url" or "base64"');
  checkRules(source, rules, path, fail);
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
