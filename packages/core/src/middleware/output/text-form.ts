import type { Steps } from '../../agent/steps.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { textOf, withSystemText } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { formatInstruction } from '../../schema/format-instruction.ts';
import type { Schema, Validation } from '../../schema/schema.ts';
import { jsonText, type Said, type TextFormat } from './text-format.ts';
import type { Found, ValueForm } from './value-form.ts';

/** Settings for a value in the text of a reply. */
export interface TextFormOptions {
  readonly schema: Schema<unknown>;
  /** See `StructuredOptions`. */
  readonly responseSchema?: boolean | undefined;
  /** Default: JSON. */
  readonly format?: TextFormat;
}

/**
 * Gets the value from the text of the answer. The system prompt of each request contains the schema,
 * which is never stored.
 */
export function textForm(
  { schema, responseSchema, format = jsonText }: TextFormOptions,
  steps: Steps,
): ValueForm {
  const { name } = format;
  const told = formatInstruction(name, schema.jsonSchema);
  const beside = steps.message('system', told);
  let system: { readonly before: Msg | undefined; readonly message: Msg } | undefined;
  return {
    beside,
    lastQuestion: `Your steps are used up. Give your answer now, as ${name} alone.`,
    request(request) {
      const [first, ...rest] = request.messages;
      const before = first?.role === 'system' ? first : undefined;
      // Reuses the message object, because the JSON for the provider is cached on the object.
      if (!system || system.before !== before)
        system = { before, message: before ? withSystemText(before, told) : beside };
      const isOffered =
        (responseSchema ?? !request.tools.length) && schema.jsonSchema['type'] === 'object';
      return {
        ...request,
        messages: [system.message, ...(before ? rest : request.messages)],
        replyIs: 'value',
        ...(isOffered && { responseSchema: schema.jsonSchema }),
      };
    },
    async read(reply) {
      const text = textOf(reply);
      const checked = await readText(schema, format, text);
      if (checked.ok) return { ok: true, found: checked.value };
      return { ok: false, issues: checked.issues, text };
    },
    question(issues) {
      const lines = issues.map((issue) => `- ${issue}`).join('\n');
      return `Your answer does not fit the schema:\n${lines}\nAnswer again, with the corrected ${name} alone.`;
    },
  };
}

/**
 * Returns the first value in the text that passes the schema. If no value passes, returns the
 * issues of the first value.
 */
async function readText(
  schema: Schema<unknown>,
  format: TextFormat,
  text: string,
): Promise<Validation<Found>> {
  const { type } = schema.jsonSchema;
  let issues: readonly string[] | undefined;
  for (const said of valuesIn(format, type, text)) {
    const wrong = shapeIssue(type, said.given);
    const result: Validation<unknown> = wrong
      ? { ok: false, issues: [wrong] }
      : await schema.validate(said.given);
    if (result.ok) return { ok: true, value: { ...said, value: result.value } };
    issues ??= result.issues;
  }
  return { ok: false, issues: issues ?? [`it is not valid ${format.name}`] };
}

function* valuesIn(format: TextFormat, type: JsonValue | undefined, text: string): Iterable<Said> {
  let none = true;
  for (const said of format.read(text)) {
    none = false;
    yield said;
  }
  // If the schema asks for a string, the model may answer without quotes.
  if (none && type === 'string' && text.trim()) yield { given: text.trim() };
}

/**
 * Returns an issue if the schema asks for an object or an array and the value is another type.
 * For a schema given as plain JSON Schema, this is the only check of the value.
 */
function shapeIssue(type: JsonValue | undefined, given: JsonValue): string | undefined {
  if (type === 'object' && (!isRecord(given) || Array.isArray(given))) return 'it is not an object';
  return type === 'array' && !Array.isArray(given) ? 'it is not an array' : undefined;
}
