import { fieldError } from '@isoloop/core/host';
import type { RequestBody } from '@isoloop/edge/api';
import type { OpenAiApi } from './client-tools.ts';
import type { ClientSetting } from './model-settings.ts';
import type { OpenAiSettings } from './openai-options.ts';
import { readObject } from './request-fields.ts';

interface FieldRule {
  /**
   * What the endpoint does with the field.
   *
   * - `use`: reads it. The function that reads it checks its value.
   * - `accept`: nothing, because the field does not change the answer.
   * - `ignore`: names it in a header, because it could make the answer better or more exact.
   * - `refuse`: answers 400, because the client's program may rely on the field.
   */
  readonly action: 'use' | 'accept' | 'ignore' | 'refuse';
  /** Values that are accepted, because they mean the same as no value. */
  readonly neutral?: readonly unknown[];
  /** Setting of the model that the field sets. It is used if `clientSettings` names the setting. */
  readonly setting?: ClientSetting;
}

type FieldTable = Readonly<Record<string, FieldRule>>;

const use: FieldRule = { action: 'use' };
const accept: FieldRule = { action: 'accept' };
const ignore = (...neutral: readonly unknown[]): FieldRule => ({ action: 'ignore', neutral });
const refuse = (...neutral: readonly unknown[]): FieldRule => ({ action: 'refuse', neutral });

/** Fields of both APIs. Fields without a rule are ignored. */
export const sharedFields: FieldTable = {
  model: use,
  stream: use,
  stream_options: use,
  tool_choice: use,
  tools: use,

  metadata: accept,
  prediction: accept,
  prompt_cache_key: accept,
  prompt_cache_options: accept,
  prompt_cache_retention: accept,
  safety_identifier: accept,
  user: accept,

  max_completion_tokens: { action: 'refuse', setting: 'maxTokens' },
  max_output_tokens: { action: 'refuse', setting: 'maxTokens' },
  max_tokens: { action: 'refuse', setting: 'maxTokens' },
  seed: { action: 'ignore', setting: 'seed' },
  stop: { action: 'refuse', setting: 'stop', neutral: [[]] },
  temperature: { action: 'ignore', setting: 'temperature', neutral: [1] },
  top_p: { action: 'ignore', setting: 'topP', neutral: [1] },

  frequency_penalty: ignore(0),
  parallel_tool_calls: ignore(true),
  presence_penalty: ignore(0),
  service_tier: ignore('auto', 'default'),
  store: ignore(false),
  truncation: ignore('disabled'),
  verbosity: ignore('medium'),

  audio: refuse(),
  background: refuse(false),
  conversation: refuse(),
  function_call: refuse('auto', 'none'),
  functions: refuse([]),
  input: refuse(),
  instructions: refuse(),
  logit_bias: refuse({}),
  logprobs: refuse(false),
  max_tool_calls: refuse(),
  messages: refuse(),
  modalities: refuse(['text']),
  n: refuse(1),
  previous_response_id: refuse(),
  prompt: refuse(),
  response_format: refuse({ type: 'text' }),
  top_logprobs: refuse(0),
};

/** Fields of one API. They precede the shared ones. */
export const apiFields: Readonly<Record<OpenAiApi, FieldTable>> = {
  completions: { messages: use, response_format: use },
  responses: {
    include: use,
    input: use,
    instructions: use,
    previous_response_id: use,
    reasoning: use,
    store: use,
    text: use,
  },
};

const streamFields: FieldTable = { include_usage: use, include_obfuscation: ignore(false) };
const textFields: FieldTable = { format: use, verbosity: ignore('medium') };

/** Values of `include`. Values without a rule are ignored. */
const includeFields: FieldTable = {
  'message.output_text.logprobs': refuse(),
  // Clients that store nothing always ask for encrypted reasoning, which may be missing.
  'reasoning.encrypted_content': accept,
};

/**
 * Returns the names of the fields that have no effect, with the path of nested ones. Throws
 * `INVALID_INPUT`, with the field's name, for a field that is refused. With `strict`, fields that
 * have no effect are refused, too. Does not check the values of fields that the endpoint uses.
 */
export function findIgnoredFields(
  body: RequestBody,
  api: OpenAiApi,
  openAi: OpenAiSettings,
): readonly string[] {
  const { include, reasoning, stream_options: streamOptions, text } = body;
  const ignoredIn = (path: string, fields: RequestBody, table: FieldTable): readonly string[] =>
    namesOfIgnored(path, fields, table, openAi);
  const ignoredFields = [
    ...ignoredIn('', body, { ...sharedFields, ...apiFields[api] }),
    ...ignoredIn('stream_options.', readObject(streamOptions, 'stream_options'), streamFields),
  ];
  if (api === 'completions') return ignoredFields;
  const reasoningFields: FieldTable = openAi.thinking ? { summary: use } : {};
  return [
    ...ignoredFields,
    ...ignoredIn('reasoning.', readObject(reasoning, 'reasoning'), reasoningFields),
    ...ignoredIn('text.', readObject(text, 'text'), textFields),
    ...ignoredIn('include.', readInclude(include), includeFields),
  ];
}

/** Returns the values of `include` as fields. */
function readInclude(include: unknown): RequestBody {
  if (include == null) return {};
  if (!Array.isArray(include) || !include.every((value) => typeof value === 'string'))
    throw fieldError('include', 'must be a list of texts');
  return Object.fromEntries(include.map((value) => [value, true]));
}

/** `path`: path of the object with the fields, with a dot. */
function namesOfIgnored(
  path: string,
  fields: RequestBody,
  table: FieldTable,
  { clientSettings, strict }: OpenAiSettings,
): readonly string[] {
  const names: string[] = [];
  for (const [field, value] of Object.entries(fields)) {
    const rule = Object.hasOwn(table, field) ? table[field]! : ignore();
    const { action, setting, neutral = [] } = rule;
    if (value == null || action === 'use' || action === 'accept') continue;
    if (setting !== undefined && clientSettings.includes(setting)) continue;
    const text = JSON.stringify(value);
    if (neutral.some((each) => JSON.stringify(each) === text)) continue;
    if (action === 'refuse' || strict) throw fieldError(path + field, problemOf(rule));
    names.push(path + field);
  }
  return names;
}

function problemOf({ setting, neutral = [] }: FieldRule): string {
  if (setting !== undefined)
    return `is not passed on to the model: name ${setting} in clientSettings of openAiRoutes()`;
  const values = neutral.map((value) => JSON.stringify(value)).join(' or ');
  return values ? `must be ${values}` : 'is not supported';
}
