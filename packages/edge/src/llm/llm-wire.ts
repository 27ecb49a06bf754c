import { AgentError } from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import { isRecord } from '@isoloop/core/message';
import { fieldError, readMessages, addressProblem } from '@isoloop/core/host';
import { maxTokensFieldOf } from '@isoloop/core/openai';
import type { LlmUpstream } from './llm-options.ts';
import type { RequestBody } from '../http/request-body.ts';

export interface WireSetup {
  readonly url: string;
  readonly upstream: LlmUpstream;
  /** Model name that the client requested. */
  readonly model: string;
  readonly maxTokens: number;
  /** Names of further fields to forward. */
  readonly fields: readonly string[];
  readonly maxMessages: number;
}

/**
 * Request fields that are safe to forward. Other fields could raise costs, store data or trigger
 * actions.
 */
const chatFields: ReadonlySet<string> = new Set(
  (
    'model messages stream stream_options tools tool_choice parallel_tool_calls response_format temperature top_p stop seed ' +
    'frequency_penalty presence_penalty reasoning_effort max_tokens max_completion_tokens n'
  ).split(' '),
);

const responseFields: ReadonlySet<string> = new Set(
  (
    'model input instructions stream stream_options tools tool_choice parallel_tool_calls text temperature top_p ' +
    'reasoning include store truncation max_output_tokens'
  ).split(' '),
);

/**
 * Types of input items that are safe to forward. Other items could bring tools of the model's
 * server, or refer to data that it stored for another user.
 */
const itemTypes: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);

/** Returns the body of a chat-completions request for the model's server. */
export function toChatWire(body: RequestBody, setup: WireSetup): object {
  const { url, upstream, maxTokens } = setup;
  const messages = readMessages(body, setup.maxMessages);
  checkCommon(body, chatFields, setup);
  for (const [index, message] of messages.entries()) checkForwarded(message, `messages[${index}]`);
  if (body['n'] != null && body['n'] !== 1) throw fieldError('n', 'must be 1');
  const { max_tokens: tokens, max_completion_tokens: completionTokens, ...rest } = body;
  const limits = [
    tokenLimit('max_tokens', tokens),
    tokenLimit('max_completion_tokens', completionTokens),
  ];
  const model = modelOf(setup);
  const limitField = upstream.maxTokensField ?? maxTokensFieldOf(url, model);
  return { ...rest, model, [limitField]: Math.min(maxTokens, ...limits) };
}

/** Returns the body of a Responses API request for the model's server, which stores nothing. */
export function toResponsesWire(body: RequestBody, setup: WireSetup): object {
  checkCommon(body, responseFields, setup);
  checkInput(body['input'], setup.maxMessages);
  const { include, max_output_tokens: tokens } = body;
  if (include != null && !(Array.isArray(include) && include.every(isEncryptedReasoning)))
    throw fieldError('include', 'can only have "reasoning.encrypted_content"');
  return {
    ...body,
    model: modelOf(setup),
    store: false,
    max_output_tokens: Math.min(setup.maxTokens, tokenLimit('max_output_tokens', tokens)),
  };
}

function checkCommon(
  body: RequestBody,
  apiFields: ReadonlySet<string>,
  { fields }: WireSetup,
): void {
  const unknown = Object.keys(body).find(
    (field) => !apiFields.has(field) && !fields.includes(field),
  );
  if (unknown !== undefined)
    throw fieldError(unknown, 'is not a field that this endpoint forwards');
  // Tools that the model's server itself provides, such as a web search, would cost you money.
  const { tools } = body;
  if (tools != null && !(Array.isArray(tools) && tools.every(isClientTool))) {
    throw fieldError('tools', 'must be functions of the client');
  }
  const { tool_choice: choice } = body;
  if (isRecord(choice) && !isClientTool(choice) && choice['type'] !== 'allowed_tools')
    throw fieldError('tool_choice', 'must be a function of the client');
  if (body['stream'] != null && typeof body['stream'] !== 'boolean')
    throw fieldError('stream', 'must be a boolean');
}

function checkInput(input: unknown, max: number): void {
  if (typeof input === 'string') return;
  if (!Array.isArray(input)) throw fieldError('input', 'must be a text or a list');
  if (input.length > max)
    throw new AgentError('PAYLOAD_TOO_LARGE', `The input has more than ${max} items.`);
  for (const [index, item] of input.entries()) checkItem(item, `input[${index}]`);
}

function checkItem(item: unknown, param: string): void {
  if (!isRecord(item)) throw fieldError(param, 'must be an object');
  const { type = 'message', role, content, encrypted_content: encrypted } = item;
  if (!itemTypes.has(type)) throw fieldError(param, 'has a type that is not forwarded');
  // An item of no type that has only an id is a reference to a stored item.
  if (type === 'message' && (typeof role !== 'string' || content == null))
    throw fieldError(param, 'must have a role and content');
  // The server would look for such reasoning under its id.
  if (type === 'reasoning' && !encrypted && !Object(content).length)
    throw fieldError(param, 'has no `encrypted_content`, and no reasoning is stored');
  checkForwarded(item, param);
}

/**
 * Fields with the id of something that the model's server stores, without `_`: some servers also
 * read names such as `fileId`.
 */
const storedIds =
  /^((file|container|response|conversation|vectorstore|prompt|assistant|thread)ids?|previous\w+id)$/i;

/**
 * Checks a message or an item at every depth. Throws `INVALID_INPUT` if it names data that the
 * model's server has stored, maybe for another user, or an address that the server must not read.
 */
function checkForwarded(value: unknown, param: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value) as Iterable<readonly [string, unknown]>) {
    const partParam = Array.isArray(value) ? `${param}[${name}]` : `${param}.${name}`;
    if (part == null) continue;
    const isSound = /audio$/i.test(name) && isRecord(part) && part['id'] != null;
    if (isSound || storedIds.test(name.replaceAll('_', '')))
      throw fieldError(partParam, 'refers to stored data; send the data or its URL');
    if (/ur[il]$/i.test(name) && typeof part === 'string') {
      const problem = addressProblem(part);
      if (problem !== undefined) throw fieldError(partParam, problem);
    }
    if (isRecord(part) && part['type'] === 'item_reference')
      throw fieldError(partParam, 'refers to stored data; send the data or its URL');
    checkForwarded(part, partParam);
  }
}

function isEncryptedReasoning(value: unknown): boolean {
  return value === 'reasoning.encrypted_content';
}

function isClientTool(tool: unknown): boolean {
  const { type } = fieldsOf(tool);
  return type === 'function' || type === 'custom';
}

function tokenLimit(field: string, value: unknown): number {
  if (value == null) return Infinity;
  if (Number.isInteger(value) && (value as number) > 0) return value as number;
  throw fieldError(field, 'must be a positive integer');
}

function modelOf({ upstream, model }: WireSetup): string {
  return upstream.model ?? model;
}
