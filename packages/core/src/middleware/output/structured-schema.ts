import { isRecord } from '../../message/json/is-record.ts';
import type { JsonObject, JsonValue } from '../../message/json/json.ts';
import type { Schema } from '../../schema/schema.ts';
import type { Found } from './value-form.ts';

/**
 * Returns the schema for a tool's arguments, which must be an object. Another value is wrapped in
 * an object: `{ response: … }` (AgentScope wraps all values).
 */
export function asArguments({ jsonSchema, validate }: Schema<unknown>): Schema<Found> {
  const wrapped = jsonSchema['type'] !== 'object';
  return {
    jsonSchema: wrapped ? wrap(jsonSchema) : jsonSchema,
    async validate(input) {
      const given = (wrapped ? isRecord(input) && input['response'] : input) as
        | JsonValue
        | undefined;
      if (wrapped && (!isRecord(input) || given === undefined))
        return { ok: false, issues: ['response: it is missing'] };
      const result = await validate(given);
      return result.ok ? { ok: true, value: { value: result.value, given: given! } } : result;
    },
  };
}

function wrap(schema: JsonObject): JsonObject {
  const { $defs, definitions, ...response } = moveRefs(schema) as JsonObject;
  return {
    type: 'object',
    properties: { response: response as JsonObject },
    required: ['response'],
    additionalProperties: false,
    ...($defs && { $defs }),
    ...(definitions && { definitions }),
  };
}

/**
 * Adjusts the references of a schema that is wrapped. References to definitions stay, because the
 * definitions move to the new root. Other references point to `#/properties/response`.
 */
function moveRefs(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(moveRefs);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value as JsonObject).map(([key, inner]) => [
    key,
    key === '$ref' ? moveRef(inner!) : moveRefs(inner!),
  ]);
  return Object.fromEntries(entries) as JsonObject;
}

function moveRef(ref: JsonValue): JsonValue {
  if (typeof ref !== 'string') return moveRefs(ref);
  return ref.replace(/^#(?=$|\/(?!\$defs\/|definitions\/))/, '#/properties/response');
}
