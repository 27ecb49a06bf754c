import { createMessage } from '@isoloop/core';
import type {
  CallOptions,
  GenerateOptions,
  JsonObject,
  JsonValue,
  Msg,
  ReActAgent,
} from '@isoloop/core';
import { jsonClaim } from '@isoloop/core/adapter';
import { readClientTools, refuseOwnNames, withClientTools } from '../turn/client-tools.ts';
import type { OpenAiApi } from '../turn/client-tools.ts';
import type { EdgeLimits, HandlerSettings } from '../handler-options.ts';
import { invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import { withoutSystem } from './completion-messages.ts';
import { readResponseFormat } from './response-format.ts';

/** Settings for the answer to a request of chat completions or of the Responses API. */
export interface CompletionCall {
  /** Options of the agent call. */
  readonly options: CallOptions;
  /**
   * Whether the text of the answer is sent as one piece. Text of an invalid attempt is then never
   * sent.
   */
  readonly wholeText: boolean;
  /** Returns whether a tool of that name belongs to the client. */
  readonly isExternal: (name: string) => boolean;
  /** Throws `INVALID_INPUT` if one of the agent's tools has the name of a client's tool. */
  readonly check: (agent: ReActAgent) => void;
}

export type CallSettings = Pick<HandlerSettings, 'jsonSchema' | 'limits' | 'systemMessages'>;

const fields: Readonly<Record<OpenAiApi, readonly string[]>> = {
  completions: [
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'response_format',
    'temperature',
    'max_completion_tokens',
    'max_tokens',
  ],
  responses: [
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'text',
    'temperature',
    'max_output_tokens',
    'instructions',
  ],
};

/** Returns the fields that `readCall` reads. A queued turn stores them. */
export function callFields(body: RequestBody, api: OpenAiApi): RequestBody {
  const given = fields[api].flatMap((field) =>
    body[field] == null ? [] : [[field, body[field]] as const],
  );
  return { api, ...Object.fromEntries(given) };
}

/**
 * Reads the settings for the answer to a request, from its `callFields`. Throws `INVALID_INPUT`,
 * with the field's name, for an invalid field.
 */
export function readCall(
  body: RequestBody,
  { jsonSchema, limits, systemMessages }: CallSettings,
): CompletionCall {
  const api: OpenAiApi = body['api'] === 'responses' ? 'responses' : 'completions';
  const clientTools = readClientTools(body, api);
  const format = readResponseFormat(body, api, jsonSchema);
  let output = withClientTools(clientTools, format);
  const given = readInstructions(body);
  const instructions = systemMessages === 'keep' ? given : withoutSystem(given);
  const names = clientTools.tools.map(({ name }) => name);
  const take = (judged: JsonValue): void => {
    const left = { ...body, ...(judged as JsonObject) };
    output = withClientTools(readClientTools(left, api), readResponseFormat(left, api, jsonSchema));
  };
  return {
    options: {
      ...generateOptions(body, limits),
      ...(instructions.length && { instructions }),
      // The guards judge the declarations before the output mode begins, and may change them.
      ...(output && {
        claims: [jsonClaim(declarations(body), take)],
        output: { begin: (...run) => output!.begin(...run) },
      }),
    },
    wholeText: format !== undefined,
    isExternal: (name) => names.includes(name),
    check: (agent) => refuseOwnNames(agent, names, 'tools'),
  };
}

/** Returns the fields whose names, descriptions and schemas the model reads. */
function declarations({ tools, response_format: format, text }: RequestBody): JsonValue {
  const declared = { tools, response_format: format, text };
  return JSON.parse(JSON.stringify(declared)) as JsonValue;
}

/** Returns the instructions of a Responses API request, which hold only for its response. */
function readInstructions({ instructions }: RequestBody): readonly Msg[] {
  if (typeof instructions !== 'string' || !instructions.trim()) return [];
  return [createMessage('system', instructions)];
}

function generateOptions(body: RequestBody, { outputTokens }: EdgeLimits): GenerateOptions {
  const temperature = number(
    body,
    'temperature',
    (value) => value >= 0 && value <= 2,
    'a number from 0 to 2',
  );
  const isCount = (value: number): boolean => Number.isInteger(value) && value > 0;
  const maxTokens =
    number(body, 'max_output_tokens', isCount, 'a positive integer') ??
    number(body, 'max_completion_tokens', isCount, 'a positive integer') ??
    number(body, 'max_tokens', isCount, 'a positive integer');
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens: Math.min(maxTokens, outputTokens) }),
  };
}

function number(
  body: RequestBody,
  field: string,
  isValid: (value: number) => boolean,
  expected: string,
): number | undefined {
  const value = body[field];
  if (value == null) return undefined;
  if (typeof value !== 'number' || !isValid(value))
    throw invalidField(field, `must be ${expected}`);
  return value;
}
