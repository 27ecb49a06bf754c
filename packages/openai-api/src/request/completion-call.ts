import { createMessage, type JsonObject, type JsonValue, type Msg } from '@isoloop/core';
import { clientJsonMode, jsonClientText } from '@isoloop/core/host';
import {
  withoutSystem,
  type ApiCall,
  type HandlerSettings,
  type RequestBody,
} from '@isoloop/edge/api';
import {
  clientTools,
  readClientTools,
  refuseOwnNames,
  type ClientTools,
  type OpenAiApi,
} from './client-tools.ts';
import { readSettings } from './model-settings.ts';
import type { OpenAiSettings } from './openai-options.ts';
import { pick } from './request-fields.ts';
import { readResponseFormat, type ResponseFormat } from './response-format.ts';

/** Returns the fields that `readCall` reads. A queued turn stores them. */
export function callFields(body: RequestBody, api: OpenAiApi): RequestBody {
  return { api, ...pick(body, callFieldNames) };
}

const callFieldNames = [
  'instructions',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'response_format',
  'seed',
  'stop',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_p',
];

/**
 * Reads the settings for the answer to a request. `body`: result of `callFields`. Throws
 * `INVALID_INPUT`, with the field's name, for an invalid field.
 */
export function readCall(
  body: RequestBody,
  settings: HandlerSettings,
  openAi: OpenAiSettings,
): ApiCall {
  const { systemMessages } = settings;
  const { jsonSchema } = openAi;
  const api: OpenAiApi = body['api'] === 'responses' ? 'responses' : 'completions';
  const readDeclarations = (from: RequestBody): Declarations => ({
    tools: readClientTools(from, api),
    format: readResponseFormat(from, api, jsonSchema),
  });
  let declarations = readDeclarations(body);
  const { tools, format } = declarations;
  const messages = readInstructions(body);
  const instructions = systemMessages === 'keep' ? messages : withoutSystem(messages);
  const names = tools.tools.map(({ name }) => name);
  const take = (guarded: JsonValue): void => {
    declarations = readDeclarations({ ...body, ...(guarded as JsonObject) });
  };
  const output = [
    ...(names.length ? [clientTools(() => declarations.tools)] : []),
    ...(format ? clientJsonMode(() => declarations.format?.schema) : []),
  ];
  return {
    options: {
      ...readSettings(body, settings, openAi),
      ...(instructions.length && { instructions }),
      // The guards check the declarations before the output mode begins, and may change them.
      ...(output.length && { clientTexts: [jsonClientText(declaredFields(body), take)], output }),
    },
    sendsWholeText: format !== undefined,
    isExternal: (name) => names.includes(name),
    check: (agent) => refuseOwnNames(agent, names, 'tools'),
  };
}

/** What a request declares for its answer. */
interface Declarations {
  readonly tools: ClientTools;
  readonly format: ResponseFormat | undefined;
}

/** Returns the fields whose names, descriptions and schemas the model reads. */
function declaredFields({ tools, response_format: format, text }: RequestBody): JsonValue {
  return JSON.parse(JSON.stringify({ tools, response_format: format, text })) as JsonValue;
}

/** Returns the instructions of a Responses API request, which hold only for its response. */
function readInstructions({ instructions }: RequestBody): readonly Msg[] {
  if (typeof instructions !== 'string' || !instructions.trim()) return [];
  return [createMessage('system', instructions)];
}
