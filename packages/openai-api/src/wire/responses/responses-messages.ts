import {
  createMessage,
  type ContentBlock,
  type Msg,
  type Role,
  type ToolResult,
  type ToolUse,
} from '@isoloop/core';
import { isRecord } from '@isoloop/core/message';
import { fieldError, acceptBlock, argumentsIn, imageDetailFields } from '@isoloop/core/host';

/**
 * Converts the `input` of a Responses API request to a conversation. Accepts a text, messages with
 * text, images and files, function calls and their outputs. Adjacent messages and calls of the
 * assistant become one message. Skips reasoning, because only the model that wrote it can read it.
 * Throws `INVALID_INPUT` for any other item. `details.param` names the item, such as `input[2]`.
 */
export function fromResponsesInput(input: unknown): readonly Msg[] {
  if (typeof input === 'string' && input) return [createMessage('user', input)];
  if (!Array.isArray(input) || !input.length)
    throw fieldError('input', 'must be a text or a list with at least one item');
  const reader = new InputReader();
  for (const [index, item] of input.entries()) reader.read(item, `input[${index}]`);
  return reader.end();
}

/**
 * Returns a function that returns the name of the first item of a message, such as `input[2]`. A
 * message of the assistant may consist of several items.
 */
export function itemNames(input: unknown): (index: number) => string {
  if (!Array.isArray(input)) return () => 'input';
  return (index) => {
    let [low, high] = [0, input.length - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const messages = fromResponsesInput(input.slice(0, middle + 1));
      if (messages.length > index) high = middle;
      else low = middle + 1;
    }
    return `input[${low}]`;
  };
}

class InputReader {
  readonly #messages: Msg[] = [];
  /** Names of the called functions, by the id of the call. */
  readonly #names: Map<string, string> = new Map();
  /** Content of the assistant's message that is being read. */
  #reply: ContentBlock[] = [];

  read(item: unknown, param: string): void {
    if (!isRecord(item)) throw fieldError(param, 'must be an object');
    const { type = 'message', role } = item;
    switch (type) {
      case 'message':
        if (role === 'assistant') this.#reply.push(...fromContent(item['content'], param));
        else this.#add(roleOf(role, param), fromContent(item['content'], param));
        return;
      case 'function_call':
        return this.#call(item, param);
      case 'function_call_output':
        return this.#output(item, param);
      case 'reasoning':
        return;
      case 'item_reference':
        throw fieldError(
          param,
          'refers to a stored item, and there are none. Send the item itself, as with `store: false`',
        );
      default:
        throw fieldError(param, `has an unsupported type: ${JSON.stringify(type)}`);
    }
  }

  end(): readonly Msg[] {
    this.#endReply();
    return this.#messages;
  }

  #add(role: Role, content: readonly ContentBlock[]): void {
    this.#endReply();
    this.#messages.push(createMessage(role, content));
  }

  #endReply(): void {
    if (this.#reply.length) this.#messages.push(createMessage('assistant', this.#reply));
    this.#reply = [];
  }

  #call(item: Readonly<Record<string, unknown>>, param: string): void {
    const { call_id: id, name, arguments: text } = item;
    if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
      throw fieldError(param, 'must have the texts `call_id`, `name` and `arguments`');
    this.#names.set(id, name);
    const call = { type: 'tool_use', id, name, ...argumentsIn(text) } as const;
    this.#reply.push(accept<ToolUse>(call, param));
  }

  #output(item: Readonly<Record<string, unknown>>, param: string): void {
    const { call_id: toolUseId, output } = item;
    if (typeof toolUseId !== 'string') throw fieldError(param, 'must have the text `call_id`');
    const name = this.#names.get(toolUseId) ?? '';
    const content = typeof output === 'string' ? output : fromContent(output, param, 'output');
    const result = { type: 'tool_result', toolUseId, name, output: content, state: 'success' };
    this.#add('tool', [accept(result as ToolResult, param)]);
  }
}

function roleOf(role: unknown, param: string): 'system' | 'user' {
  if (role === 'system' || role === 'developer') return 'system';
  if (role === 'user') return 'user';
  throw fieldError(param, `has the role ${JSON.stringify(role)}`);
}

function fromContent(content: unknown, param: string, field = 'content'): readonly ContentBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw fieldError(`${param}.${field}`, 'must be a text or a list');
  return content.map((part: unknown, index) => fromPart(part, `${param}.${field}[${index}]`));
}

function fromPart(part: unknown, param: string): ContentBlock {
  const { type, text, refusal } = isRecord(part) ? part : {};
  switch (type) {
    case 'input_text':
    case 'output_text':
      if (typeof text === 'string') return { type: 'text', text };
      throw fieldError(param, 'must have the text `text`');
    case 'refusal':
      if (typeof refusal === 'string') return { type: 'text', text: refusal };
      throw fieldError(param, 'must have the text `refusal`');
    case 'input_image':
    case 'input_file':
      return fromMedia(part as Readonly<Record<string, unknown>>, type, param);
    default:
      throw fieldError(param, `has an unsupported type: ${JSON.stringify(type)}`);
  }
}

function fromMedia(
  part: Readonly<Record<string, unknown>>,
  type: 'input_image' | 'input_file',
  param: string,
): ContentBlock {
  const { filename } = part;
  if (part['file_id'] != null)
    throw fieldError(`${param}.file_id`, 'is not supported: there are no stored files');
  const fields = type === 'input_image' ? ['image_url'] : ['file_data', 'file_url'];
  const field = fields.find((name) => part[name] != null);
  if (field === undefined) throw fieldError(param, `must have \`${fields.join('` or `')}\``);
  const url = part[field];
  if (typeof url !== 'string') throw fieldError(`${param}.${field}`, 'must be a URL');
  const source = { type: 'url', url } as const;
  const block: ContentBlock =
    type === 'input_image'
      ? { type: 'image', source, ...imageDetailFields(part['detail']) }
      : { type: 'file', source, ...(typeof filename === 'string' && { name: filename }) };
  return accept(block, `${param}.${field}`);
}

/** Returns what passes of a client's block. `param`: name of the field that it comes from. */
function accept<B extends ContentBlock>(block: B, param: string): B {
  const errorOf = (_field: string, problem: string) => fieldError(param, problem);
  return acceptBlock(block, { sender: 'client', errorOf });
}
