import { toolUsesOf, type ToolUse, type Msg } from './msg.ts';
import { isSameJson, type JsonObject, type JsonValue } from './json.ts';

/**
 * The keys that the library sets in the `metadata` of messages. Other keys belong to users and
 * providers.
 */
export interface MessageMetadata {
  /** Id of the run that got this input. */
  readonly runId?: string;
  /** Why the reply is incomplete: `interrupted`, `aborted` or `suspended`. */
  readonly partial?: string;
  /** Why the run ended with this message, if the model did not write the message as its answer. */
  readonly reason?: string;
  /** The output of an answer that passed the schema, as JSON. */
  readonly output?: JsonValue;
  /** The JSON that the model wrote for `output`, if the schema changed it. */
  readonly outputJson?: JsonValue;
  /** Why the model ended the reply, in the provider's words. `incompleteReason()` reads it. */
  readonly finishReason?: string;
  /** Tokens of the request and the reply: a `Usage`. */
  readonly usage?: JsonObject;
  /** Whether the message is an invalid reply (`reply`), or asks for a better one (`message`). */
  readonly correction?: 'reply' | 'message';
  /** Why the reply cannot be used. Not stored. The message itself has no text. */
  readonly invalidReply?: InvalidReply;
  /** The reply as the model wrote it, if it has tool calls in its text. */
  readonly written?: WrittenReply;
  /** The model's own tool calls, before a person changed their arguments. */
  readonly edited?: readonly ToolUse[];
  /**
   * Who wrote a message that no participant of the conversation said. `program`: the library or a
   * hook. `client`: a client, as a system message.
   */
  readonly origin?: 'program' | 'client';
  /** Whether the reply comes from a cache. */
  readonly cached?: boolean;
  /** Whether a client says that an agent elsewhere wrote the message. */
  readonly imported?: boolean;
  /** The person who wrote the message in the assistant's place. */
  readonly operator?: OperatorMark;
  /** Warnings of output guards. */
  readonly warnings?: readonly string[];
}

/** A reply that the model has to correct. */
export type InvalidReply = {
  /** The reply as the model reads it. */
  readonly text: string;
  /** The correction for the model. */
  readonly message: string;
  /**
   * Text of the reply without its tool call. Present if the reply calls a tool although the request
   * offered none.
   */
  readonly proseText?: string;
};

/** A reply with tool calls in its text, as the model wrote it. */
type WrittenReply = {
  /**
   * The parts of the reply before and after the text that the message shows. One part if the reply
   * does not contain the text.
   */
  readonly parts: readonly string[];
  /** Checksum of the tool calls in the reply. */
  readonly callsChecksum: number;
};

/** Mark of a message that a person wrote in the assistant's place. */
export type OperatorMark = {
  readonly name: string;
  /** What the person did. After `leave`, the agent answers again. */
  readonly action: 'join' | 'say' | 'leave';
};

/** Returns the fields of a message's metadata that the library sets. */
export function metadataOf({ metadata }: Pick<Msg, 'metadata'>): MessageMetadata {
  return (metadata ?? {}) as MessageMetadata;
}

/** Returns a copy of the message with these fields in its metadata. */
export function withMetadata(message: Msg, fields: MessageMetadata): Msg {
  return { ...message, metadata: { ...message.metadata, ...(fields as JsonObject) } };
}

/** Returns whether the message is an invalid reply, or asks the model for a better one. */
export function isCorrection(message: Msg): boolean {
  return Boolean(metadataOf(message).correction);
}

/**
 * Returns a copy of the message with the origin `program`. Nobody in the conversation said it: it
 * is a prompt, a hint, or recalled text. The origin `client` stays.
 */
export function markAsProgram(message: Msg): Msg {
  return withMetadata(message, { origin: 'program', ...message.metadata });
}

/** Returns whether the library or a hook wrote the message. */
export function isFromProgram(message: Msg): boolean {
  return metadataOf(message).origin === 'program';
}

/** Returns whether the agent wrote the message, and not a person in its place. */
export function isReply(message: Msg): boolean {
  return message.role === 'assistant' && !metadataOf(message).operator;
}

/** Returns whether a person answers in the assistant's place. */
export function isOperated(messages: readonly Msg[]): boolean {
  const last = messages.findLast((message) => metadataOf(message).operator);
  return last !== undefined && metadataOf(last).operator?.action !== 'leave';
}

/**
 * Returns a copy of the message with new arguments for one of its tool calls. Returns the same
 * message if the arguments are equal. `metadata.edited` contains the original tool calls of the
 * model. Removes the raw argument text, because it has the old arguments. Provider metadata stays.
 * If it names arguments that the provider has stored, the provider's formatter leaves it out
 * (`isEdited`).
 */
export function withEditedCall(message: Msg, toolUseId: string, input: JsonValue): Msg {
  const call = toolUsesOf(message).find(({ id }) => id === toolUseId);
  if (!call || isSameJson(call.input, input)) return message;
  const originals = originalCalls(message);
  const edited = originals.some(({ id }) => id === toolUseId) ? originals : [...originals, call];
  const { raw: _raw, ...fields } = call;
  const content = message.content.map((block) => (block === call ? { ...fields, input } : block));
  return withMetadata({ ...message, content }, { edited });
}

/** Returns whether a person has changed the arguments of this tool call. */
export function isEdited(message: Msg, toolUseId: string): boolean {
  return originalCalls(message).some(({ id }) => id === toolUseId);
}

/**
 * Returns whether a person has changed a tool call of the newest reply. What the provider has
 * stored of that reply still has the old arguments.
 */
export function isNewestReplyEdited(messages: readonly Msg[]): boolean {
  const reply = messages.findLast(isReply);
  return reply !== undefined && originalCalls(reply).length > 0;
}

function originalCalls(message: Msg): readonly ToolUse[] {
  return metadataOf(message).edited ?? [];
}
