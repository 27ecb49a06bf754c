import { AgentError, errorText, fieldsOf, misconfigured } from '../../error/agent-error.ts';
import { checkFields, checkObject } from '../../error/options/check-fields.ts';
import {
  array,
  nonNegative,
  nullable,
  object,
  optional,
  string,
  whole,
} from '../../error/options/kinds.ts';
import type { FieldTable, WithField } from '../../error/options/option-table.ts';
import type { ModelDelta, Usage } from '../chat-model.ts';

/** The fields of each type of delta. */
const deltaFields: {
  readonly [T in ModelDelta['type']]: FieldTable<WithField<ModelDelta, 'type', T>>;
} = {
  text: { delta: string, id: string },
  thinking: { delta: string, id: string },
  'tool-input': { index: whole, id: optional(string), name: optional(string), delta: string },
  file: { mediaType: string, data: string },
  reset: { reason: string },
  finish: {
    reason: string,
    usage: optional(nullable(object)),
    metadata: optional(nullable(object)),
  },
};

const usageFields: FieldTable<Usage> = { inputTokens: nonNegative, outputTokens: nonNegative };

const advice =
  "A model must yield arrays of deltas such as [{ type: 'text', id: '0', delta: 'Hi' }].";

/**
 * Throws `MODEL_BAD_RESPONSE` if a batch of a model is not an array of deltas. Its server may be at
 * fault as well as the program, and `fallback()` then asks the next model. `who`: the model or the
 * wrapper that yielded the batch, as the start of a sentence.
 */
export function checkDeltas(who: string, batch: unknown): void {
  try {
    if (!Array.isArray(batch))
      checkFields(`${who} yielded a wrong batch`, { batch }, { batch: array });
    const others = (batch as readonly unknown[]).filter((delta) => !isCommon(delta));
    for (const delta of others) checkDelta(who, delta);
  } catch (error) {
    throw new AgentError('MODEL_BAD_RESPONSE', `${errorText(error)} ${advice}`);
  }
}

/** Returns whether a delta is right, and of a kind that comes by the thousand. */
function isCommon(delta: unknown): boolean {
  const { type, id, index, name, delta: text } = fieldsOf(delta);
  if (typeof text !== 'string') return false;
  if (type === 'text' || type === 'thinking') return typeof id === 'string';
  const isPlace = index === Number(index) && index >= 0;
  return type === 'tool-input' && isPlace && isOptionalText(id) && isOptionalText(name);
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function checkDelta(who: string, delta: unknown): void {
  checkObject(`${who} yielded a wrong delta: it`, delta);
  const { type, usage } = delta as { readonly type?: unknown; readonly usage?: unknown };
  const names = Object.keys(delta as object).slice(0, 8);
  const where = `${who} yielded a wrong delta with the fields ${names.join(', ')}`;
  const types = Object.keys(deltaFields);
  const isKnown = types.includes(type as string);
  const shownType = String(type).slice(0, 32);
  if (!isKnown)
    throw misconfigured(`${where}: type must be ${types.join(' or ')}; got "${shownType}".`);
  const what = `${where} and the type "${shownType}"`;
  checkFields(what, delta, deltaFields[type as ModelDelta['type']]);
  if (usage) checkFields(`${what}: usage`, usage, usageFields);
}
