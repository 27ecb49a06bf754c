import {
  AgentError,
  tool,
  type GenerateOptions,
  type JsonObject,
  type Middleware,
  type ReActAgent,
  type Tool,
} from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import { fieldError } from '@isoloop/core/host';
import { checkName, type RequestBody } from '@isoloop/edge/api';

export interface ClientTools {
  /** External tools. A call of such a tool ends the run, and the client gets the tool call. */
  readonly tools: readonly Tool[];
  /**
   * Tool choice for the run's first model request. Later requests use the agent's own tool choice.
   */
  readonly toolChoice?: GenerateOptions['toolChoice'];
}

/** Maximum number of tools in one request, which is OpenAI's limit. */
const maxTools = 128;

/**
 * API of OpenAI that a client uses. In chat completions, a function's fields are in `function`. In
 * the Responses API, they are fields of the tool.
 */
export type OpenAiApi = 'completions' | 'responses';

/**
 * Reads `tools` and `tool_choice` of a request. Throws `INVALID_INPUT`, with the field's name, for
 * an invalid value.
 */
export function readClientTools(body: RequestBody, api: OpenAiApi): ClientTools {
  const { tool_choice: choice } = body;
  const list = body['tools'] ?? [];
  if (!Array.isArray(list)) throw fieldError('tools', 'must be a list');
  if (list.length > maxTools) throw fieldError('tools', `has more than ${maxTools} tools`);
  const tools = list.map((each: unknown, index) => readTool(each, `tools[${index}]`, api));
  const names = tools.map(({ name }) => name);
  const repeatIndex = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (repeatIndex >= 0) throw fieldError(`tools[${repeatIndex}]`, 'has the name of another tool');
  if (choice === 'none') return { tools: [] };
  const toolChoice = readChoice(choice, names, api);
  return { tools, ...(toolChoice !== undefined && { toolChoice }) };
}

/**
 * Throws `INVALID_INPUT` if a client's tool has the name of one of the agent's tools, because the
 * client's tool could replace the agent's tool.
 */
export function refuseOwnNames(
  { tools }: ReActAgent,
  names: readonly string[],
  param: string,
): void {
  const ownName = names.find((name) => tools.find(name) !== undefined);
  if (ownName !== undefined)
    throw fieldError(
      param,
      `has a tool ${JSON.stringify(ownName)}, but the agent has its own tool of that name`,
    );
}

/**
 * Returns middleware for one agent call that offers the client's tools in addition to the agent's
 * tools. `readTools` returns the tools after the guards have accepted them.
 */
export function clientTools(readTools: () => ClientTools): Middleware {
  let isFirst = true;
  return {
    name: 'clientTools',
    onError: 'fail',
    on: {
      'pre-call': {
        priority: -10_000,
        handle(_event, run) {
          if (!run.model.features.tools)
            throw fieldError('tools', 'cannot be used: the model calls no tools');
          run.tools.add(readTools().tools);
        },
      },
    },
    wrapRequest: async (draft, next) => {
      const outcome = await next(draft);
      const { toolChoice } = readTools();
      if (!('messages' in outcome) || !isFirst || toolChoice === undefined) return outcome;
      isFirst = false;
      return { ...outcome, toolChoice };
    },
  };
}

function readTool(value: unknown, param: string, api: OpenAiApi): Tool {
  const fields = fieldsOf(value);
  if (fields['type'] !== 'function') throw fieldError(param, 'must be of the type "function"');
  const { name, description = '', parameters, strict } = functionOf(fields, api);
  const path = api === 'completions' ? `${param}.function` : param;
  if (api === 'responses') refuseToolFields(fields, param);
  checkName(name, `${path}.name`);
  if (typeof (description ?? '') !== 'string')
    throw fieldError(`${path}.description`, 'must be a text');
  if (strict != null && typeof strict !== 'boolean')
    throw fieldError(`${path}.strict`, 'must be a boolean');
  try {
    const clientTool = tool({
      name,
      description: (description as string | null) ?? '',
      input: toObjectSchema(parameters, `${path}.parameters`),
      ...(typeof strict === 'boolean' && { strict }),
    });
    return { ...clientTool, schema: { ...clientTool.schema, origin: 'client' } };
  } catch (cause) {
    if (AgentError.is(cause) && cause.code === 'INVALID_INPUT') throw cause;
    throw fieldError(param, 'is not a tool');
  }
}

/** Fields of a function tool that change how the model calls it, which the endpoint cannot do. */
const refusedToolFields = ['allowed_callers', 'async', 'defer_loading', 'output_schema'];

function refuseToolFields(fields: RequestBody, param: string): void {
  const isUnset = (value: unknown): boolean =>
    value == null || value === false || JSON.stringify(value) === '["direct"]';
  const field = refusedToolFields.find((name) => !isUnset(fields[name]));
  if (field !== undefined) throw fieldError(`${param}.${field}`, 'is not supported');
}

function toObjectSchema(schema: unknown, param: string): JsonObject {
  if (schema == null) return { type: 'object', properties: {} };
  const { type } = Object(schema) as { readonly type?: unknown };
  if (
    typeof schema !== 'object' ||
    Array.isArray(schema) ||
    (type !== undefined && type !== 'object')
  ) {
    throw fieldError(param, 'must be the JSON Schema of an object');
  }
  return { type: 'object', ...(schema as JsonObject) };
}

function readChoice(
  choice: unknown,
  names: readonly string[],
  api: OpenAiApi,
): GenerateOptions['toolChoice'] {
  if (choice == null || choice === 'auto') return undefined;
  const fields = fieldsOf(choice);
  const { type } = fields;
  const { name } = functionOf(fields, api);
  if (choice !== 'required' && (type !== 'function' || typeof name !== 'string')) {
    throw fieldError('tool_choice', 'must be "none", "auto", "required" or the name of a function');
  }
  if (choice === 'required' ? !names.length : !names.includes(name as string)) {
    throw fieldError('tool_choice', 'asks for a tool that is not in `tools`');
  }
  return choice === 'required' ? 'required' : { name: name as string };
}

/** Returns the fields of a function, in a tool or in a tool choice. */
function functionOf(fields: RequestBody, api: OpenAiApi): RequestBody {
  return api === 'completions' ? fieldsOf(fields['function']) : fields;
}
