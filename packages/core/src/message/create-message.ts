import type { ContentBlock, ToolResult } from './content-block.ts';
import type { JsonObject } from './json/json.ts';
import type { Msg, Role } from './msg.ts';

/** Sources of ids and times. Tests provide their own sources. */
export interface MessageContext {
  /** Function that returns a new unique id. Default: `crypto.randomUUID`. */
  readonly generateId?: () => string;
  /** Function that returns milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Options of a new message. Other fields are allowed, so that a hook's context can be passed. */
export interface MessageOptions extends MessageContext {
  readonly id?: string;
  readonly name?: string;
  readonly metadata?: JsonObject;
}

/** Creates a message of any role, with a new id and the current time. */
export function createMessage(
  role: Role,
  content: string | readonly ContentBlock[],
  options: MessageOptions = {},
): Msg {
  const {
    generateId = () => crypto.randomUUID(),
    now = Date.now,
    id = generateId(),
    name,
    metadata,
  } = options;
  return {
    id,
    role,
    ...(name !== undefined && { name }),
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    ...(metadata && { metadata }),
    createdAt: new Date(now()).toISOString(),
  };
}

/**
 * Creates a message of the user: a text, or a list of blocks such as texts and images.
 *
 * @example
 * await agent.call(userMessage([{ type: 'text', text: 'What is this?' }, image]));
 */
export function userMessage(
  content: string | readonly ContentBlock[],
  options?: MessageOptions,
): Msg {
  return createMessage('user', content, options);
}

/** Creates a message of the assistant, for example to continue an earlier conversation. */
export function assistantMessage(
  content: string | readonly ContentBlock[],
  options?: MessageOptions,
): Msg {
  return createMessage('assistant', content, options);
}

/** Creates a message with instructions for the model. */
export function systemMessage(content: string, options?: MessageOptions): Msg {
  return createMessage('system', content, options);
}

/**
 * Creates a message with one tool result, or with several in a list. AgentScope stores one message
 * for each result.
 */
export function toolMessage(
  result: ToolResult | readonly ToolResult[],
  options?: MessageOptions,
): Msg {
  return createMessage('tool', [result].flat(), options);
}
