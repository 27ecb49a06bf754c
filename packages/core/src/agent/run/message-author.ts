import { markAsProgram } from '../../message/metadata.ts';
import {
  createMessage,
  toolUsesOf,
  type MessageContent,
  type Msg,
  type Role,
} from '../../message/msg.ts';
import type { AgentSettings } from '../kernel-options.ts';
import type { NewMessageOptions } from '../seam/run-view.ts';
import type { LoggedConversation } from './logged-conversation.ts';

/** Creates the messages of a run, with the agent's name, clock and ids. */
export class MessageAuthor {
  readonly #options: Pick<AgentSettings, 'name' | 'now' | 'generateId'>;
  readonly #log: LoggedConversation;

  constructor(options: AgentSettings, log: LoggedConversation) {
    this.#options = options;
    this.#log = log;
  }

  createMessage(role: Role, content: MessageContent, options?: NewMessageOptions): Msg {
    const { generateId, now, name } = this.#options;
    const speaker = role === 'assistant' && { name };
    const message = createMessage(role, content, { ...options, ...speaker, generateId, now });
    return role === 'user' ? markAsProgram(message) : message;
  }

  /**
   * Returns the message with role `assistant`. Sets the agent's name, but keeps the name of an
   * assistant message.
   */
  asReply(message: Msg): Msg {
    const assistantName = message.role === 'assistant' ? message.name : undefined;
    return { ...message, role: 'assistant', name: assistantName ?? this.#options.name };
  }

  /**
   * Returns a reply that the log does not have. A program may use one message as several replies,
   * so the ids that the log already has are new in the copy.
   */
  asNewReply(message: Msg): Msg {
    return this.#log.conversation.withNewIds(this.asReply(message), this.#options.generateId);
  }

  /** Returns what takes the place of `original`. A stored message keeps its id and tool calls. */
  asChanged(message: Msg, original: Msg): Msg {
    const stored = this.#log.conversation.find(original.id);
    if (!stored) return this.asNewReply(message);
    const content = message.content.filter(({ type }) => type !== 'tool_use');
    return this.asReply({
      ...message,
      id: stored.id,
      content: [...content, ...toolUsesOf(stored)],
    });
  }
}
