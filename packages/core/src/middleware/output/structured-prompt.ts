import { isRecord } from '../../message/json/is-record.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { textOf, withSystemText } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import type { Schema, Validation } from '../../schema/schema.ts';
import type { LoopSteps } from '../../loop/loop-steps.ts';
import type { OutputRun } from '../../loop/output-mode.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import { OutputTries, storedValue, type Found, type OutputSpec } from './structured-answer.ts';
import { formatInstruction } from '../../schema/format-instruction.ts';
import { jsonText, type Said, type TextFormat } from './text-format.ts';

/**
 * Gets the value from the text of the answer, in JSON or in the given format. The system prompt of
 * each request contains the schema, which is never stored.
 */
export function promptOutput(
  context: RunContext,
  steps: LoopSteps,
  { schema, attempts, responseSchema, format = jsonText }: OutputSpec,
): OutputRun {
  const tries = new OutputTries(context, steps, attempts);
  const told = formatInstruction(format.name, schema.jsonSchema);
  let system: { readonly before: Msg | undefined; readonly message: Msg } | undefined;

  const tell = (request: ModelRequest): ModelRequest => {
    const [first, ...rest] = request.messages;
    const before = first?.role === 'system' ? first : undefined;
    // Reuses the message object, because the JSON for the provider is cached on the object.
    if (!system || system.before !== before)
      system = {
        before,
        message: before ? withSystemText(before, told) : steps.message('system', told),
      };
    const isOffered =
      (responseSchema ?? !request.tools.length) && schema.jsonSchema['type'] === 'object';
    const messages = [system.message, ...(before ? rest : request.messages)];
    return {
      ...request,
      messages,
      replyIs: 'value',
      ...(isOffered && { responseSchema: schema.jsonSchema }),
    };
  };

  return {
    request: tell,
    beside: steps.message('system', told),
    stored: (answer) => storedValue(schema, answer),
    async judge(reply) {
      const checked = await readText(schema, format, textOf(reply));
      if (!checked.ok) {
        await tries.fail(textOf(reply), checked.issues);
        const issues = checked.issues.map((issue) => `- ${issue}`).join('\n');
        return tries.again(
          reply,
          `Your answer does not fit the schema:\n${issues}\nAnswer again, with the corrected ${format.name} alone.`,
        );
      }
      const message = await tries.answer(checked.value, reply, 'reasoning-chunk');
      return { message, output: checked.value.value };
    },
    settled: () => Promise.resolve(undefined),
    async onLimit() {
      const question = `Your steps are used up. Give your answer now, as ${format.name} alone.`;
      const fitted = await steps.fit();
      const messages = [...fitted, steps.message('user', question)];
      const reply = await steps.ask(messages, tell);
      if (reply.type === 'cut') return reply;
      const content = reply.message.content.filter(({ type }) => type !== 'tool_use');
      const checked = await readText(schema, format, textOf(content));
      if (!checked.ok) throw await tries.failure(textOf(content), checked.issues);
      const message = await tries.answer(
        checked.value,
        { ...reply.message, content },
        'summary-chunk',
      );
      return {
        type: 'whole',
        message: await steps.revise('post-summary', message),
        output: checked.value.value,
      };
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
