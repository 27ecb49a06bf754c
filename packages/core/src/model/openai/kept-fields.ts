import { isRecord, pickFields, type JsonObject, type JsonValue } from '../../message/json.ts';
import type { ContentBlock } from '../../message/msg.ts';
import { fieldsFor, withOrigin } from '../../message/provider-metadata.ts';
import type { WireObject } from '../formatter/formatter.ts';

/**
 * Fields of a reply, of its deltas and of a tool call that the server must get back:
 *
 * - `reasoning_details`: OpenRouter and Vercel's gateway.
 *   https://openrouter.ai/docs/use-cases/reasoning-tokens
 * - `thinking_blocks`: LiteLLM, for Anthropic. https://docs.litellm.ai/docs/reasoning_content
 * - `extra_content`: thought signatures of Gemini.
 *   https://ai.google.dev/gemini-api/docs/thought-signatures
 * - `provider_specific_fields`: LiteLLM, for Gemini. https://docs.litellm.ai/blog/gemini_3
 * - `reasoning_opaque` and `reasoning_text`: GitHub Copilot, which refuses thinking without its
 *   signature. https://github.com/earendil-works/pi/pull/1502
 */
const keptNames: readonly string[] = [
  'reasoning_details',
  'thinking_blocks',
  'extra_content',
  'provider_specific_fields',
  'reasoning_opaque',
  'reasoning_text',
];

/**
 * Returns who signs the thinking of a model: its host and the family of the model. Behind a
 * gateway, a family refuses the signatures of another one:
 * https://github.com/decolua/9router/issues/4136, https://github.com/anomalyco/opencode/issues/6418
 */
export function signerOf(host: string, model: string): string {
  const [family] = /claude|gemini|gpt|grok|\bo\d/.exec(model.toLowerCase()) ?? [];
  return family ? `${host} ${family}` : host;
}

/** Names of text that arrives in pieces. */
const pieceNames = /^(text|summary|thinking|data|reasoning_text)$/;

/** Number of the newest list items that a piece may continue, so that many take linear time. */
const maxSearchedItems = 256;

/** Fields that are being collected. They are changed in place, so that many pieces are fast. */
export type KeptFields = Record<string, JsonValue>;

/** Adds the fields of a delta that the server must get back to those so far. */
export function keepFields(fields: KeptFields, delta: object): void {
  joinFields(fields, delta as JsonObject, keptNames);
}

/** Returns the fields as provider metadata. Returns `undefined` if no server may get them back. */
export function keptMetadata(
  origin: string | undefined,
  { thinking_blocks: blocks, reasoning_text: text, ...fields }: KeptFields,
): JsonObject | undefined {
  // Anthropic refuses thinking without a signature, such as that of an incomplete reply.
  const signedBlocks = Array.isArray(blocks) ? blocks.filter(isSigned) : [];
  if (signedBlocks.length) fields['thinking_blocks'] = signedBlocks;
  if (text && fields['reasoning_opaque']) fields['reasoning_text'] = text;
  return origin && Object.keys(fields).length ? withOrigin(origin, fields) : undefined;
}

function isSigned(block: JsonObject): boolean {
  return Boolean(block['signature'] ?? block['data']);
}

/** Returns the fields of a block that the server on the host `origin` gets back. */
export function keptFieldsOf(block: ContentBlock, origin: string | undefined): WireObject {
  return pickFields(fieldsFor(origin, block), (name) => keptNames.includes(name)) as WireObject;
}

/** Joins some fields of an object with their next parts. */
function joinFields(fields: KeptFields, parts: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    // Nearly all deltas have none of these fields.
    if (parts[name] == null) continue;
    const whole = join(fields[name], parts[name], name);
    if (whole !== undefined) fields[name] = whole;
  }
}

/**
 * Joins a value with its next part: objects by field, items of lists by type and index, and texts
 * that arrive in pieces. Any other text or number replaces the value. Leaves out a flag, because it
 * describes only its own delta, such as Gemini's `google.thought`.
 */
function join(
  value: JsonValue | undefined,
  part: JsonValue | undefined,
  name: string,
): JsonValue | undefined {
  if (Array.isArray(part)) return joinList(Array.isArray(value) ? value : [], part);
  if (isRecord(part)) return joinObject(value, part as JsonObject, name);
  if (part == null || part === '' || typeof part === 'boolean') return value;
  const isPiece = typeof value === 'string' && pieceNames.test(name);
  // Some servers repeat encrypted data.
  const isRepeated = name === 'data' && part === value;
  return isPiece && !isRepeated ? `${value}${part}` : part;
}

function joinObject(
  value: JsonValue | undefined,
  part: JsonObject,
  name: string,
): JsonValue | undefined {
  const fields = (isRecord(value) ? value : {}) as KeptFields;
  // A value of `__proto__` would change all objects. LiteLLM passes its other fields on to
  // providers that refuse them: https://github.com/BerriAI/litellm/issues/25595
  const isKept = (key: string): boolean =>
    name === 'provider_specific_fields' ? /signature/.test(key) : key !== '__proto__';
  joinFields(fields, part, Object.keys(part).filter(isKept));
  return Object.keys(fields).length ? fields : value;
}

function joinList(list: JsonValue[], parts: readonly JsonValue[]): JsonValue | undefined {
  // The items of one delta are different items.
  const earlierItems = list.slice(-maxSearchedItems);
  const last = earlierItems.at(-1);
  for (const [position, part] of parts.entries()) {
    const item = earlierItems.findLast((one) => continues(one, part, one === last && !position));
    const whole = join(item, part, '');
    if (item === undefined && whole !== undefined) list.push(whole);
  }
  return list.length ? list : undefined;
}

/**
 * Returns whether a part continues an item. OpenRouter numbers its items. LiteLLM does not: there,
 * a signature ends an item, and encrypted data is always an item of its own.
 */
function continues(item: JsonValue, part: JsonValue, isNext: boolean): boolean {
  if (!isRecord(item) || !isRecord(part) || item['type'] !== part['type']) return false;
  if ((part['id'] ?? item['id']) !== item['id']) return false;
  if (part['index'] != null) return part['index'] === item['index'];
  return isNext && !item['signature'] && !part['data'];
}
