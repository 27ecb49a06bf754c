import type { ToolUse } from '../../message/content-block.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonObject, JsonValue } from '../../message/json/json.ts';
import { outputText, textOf, toolUsesOf } from '../../message/message-text.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { Schema } from '../../schema/schema.ts';
import type { Tool } from '../../tool/tool.ts';
import { isOutputCall, type Found, type ValueForm } from './value-mode.ts';

export interface ToolFormOptions {
  readonly schema: Schema<unknown>;
  /** Whether a request for the value forces a call of the output tool. */
  readonly forceTool: boolean;
}

/**
 * Gets the value from the arguments of a tool that is added to the agent's own tools (AgentScope:
 * `StructuredOutputHook`).
 */
export function toolForm({ schema, forceTool }: ToolFormOptions): ValueForm {
  const input = asArguments(schema);
  const reminder = `Give your answer now: call "${outputToolName}".`;
  const forced = forceTool && { toolChoice: { name: outputToolName } };
  let found: Found | undefined;
  const tool: Tool = {
    name: outputToolName,
    input,
    schema: {
      name: outputToolName,
      description: 'Takes your final answer. Call it once you know all that the answer needs.',
      parameters: input.jsonSchema,
    },
    replay: 'safe',
    takesAnswer: true,
    execute(value) {
      found = value as Found;
      return 'Received.';
    },
  };
  return {
    schema,
    tool,
    lastQuestion: reminder,
    request(request, isAsked) {
      found = undefined;
      const isOffered = request.tools.some(isOutputCall);
      const tools = isOffered ? request.tools : [...request.tools, tool.schema];
      return { ...request, tools, ...(isAsked && forced) };
    },
    async read(reply, result) {
      if (found) return { ok: true, found };
      const call = toolUsesOf(reply).findLast(isOutputCall);
      if (!call) {
        const issues = [`the model did not call "${outputToolName}"`];
        return { ok: false, issues, text: textOf(reply) };
      }
      const text = call.raw ?? JSON.stringify(call.input);
      const checked = await readCall(input, call);
      if (!checked.ok) return { ok: false, issues: checked.issues, text };
      // A hook may have rejected the call or changed its arguments.
      if (result && result.state !== 'success')
        return { ok: false, issues: [outputText(result.output)], text };
      return { ok: true, found: checked.value };
    },
    question: () => reminder,
  };
}

function readCall(
  schema: Schema<Found>,
  { input, raw }: ToolUse,
): ReturnType<Schema<Found>['validate']> {
  return input === null && raw
    ? { ok: false, issues: ['it is not valid JSON'] }
    : schema.validate(input);
}

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
