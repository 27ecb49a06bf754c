import { toolUsesOf, type ToolUse, type Msg } from '../msg.ts';
import { pairedForModel, openToolUses, orderFrom } from './tool-pairs.ts';

/**
 * The conversation of an agent, without the system prompt. A step or a run looks only at new
 * messages, so that a long conversation does not get slower.
 */
export class Conversation {
  #messages: Msg[] = [];
  /** Number of messages at the start that are in order, and whose tool calls have results. */
  #orderedCount = 0;
  #toolUseIds: Set<string> = new Set();
  /** Further ids of tool calls that the run has used, such as those of removed messages. */
  readonly #usedIds: Set<string> = new Set();

  get messages(): readonly Msg[] {
    return this.#messages;
  }

  /** Takes the messages of the log, which has usually only grown since the last run. */
  load(messages: readonly Msg[]): void {
    if (!this.#messages.every((message, index) => message === messages[index])) this.replace([]);
    this.add(messages.slice(this.#messages.length));
    this.#usedIds.clear();
  }

  add(messages: readonly Msg[]): void {
    for (const message of messages) {
      this.#messages.push(message);
      for (const { id } of toolUsesOf(message)) this.#toolUseIds.add(id);
    }
  }

  replace(messages: readonly Msg[]): void {
    for (const id of this.#toolUseIds) this.#usedIds.add(id);
    this.#messages = [];
    this.#orderedCount = 0;
    this.#toolUseIds = new Set();
    this.add(messages);
  }

  /** Sorts the messages as models require: each result follows its tool call. */
  sort(): void {
    this.#messages = orderFrom(this.#messages, this.#orderedCount, pairedForModel) as Msg[];
    if (!this.openToolUses().length) this.#orderedCount = this.#messages.length;
  }

  /** Returns whether the conversation has a message with this id. */
  has(id: string): boolean {
    return this.find(id) !== undefined;
  }

  /** Returns the message with this id. */
  find(id: string): Msg | undefined {
    return this.#messages.find((message) => message.id === id);
  }

  /** Returns a copy of a message. The ids that the conversation already has are new in the copy. */
  withNewIds(message: Msg, generateId: () => string): Msg {
    const content = message.content.map((block) =>
      block.type === 'tool_use' && this.#toolUseIds.has(block.id)
        ? { ...block, id: this.toolUseId(undefined, generateId) }
        : block,
    );
    return { ...message, id: this.has(message.id) ? generateId() : message.id, content };
  }

  /**
   * Returns an id for a new tool call: `proposedId`, or a new id if the session already has
   * that one.
   */
  toolUseId(proposedId: string | undefined, generateId: () => string): string {
    const isFree =
      proposedId && !this.#toolUseIds.has(proposedId) && !this.#usedIds.has(proposedId);
    // A prefix would make a UUID longer than the 40 characters that OpenAI and Copilot accept.
    const id = isFree ? proposedId : generateId();
    this.#usedIds.add(id);
    return id;
  }

  /** Returns the tool calls without a result. */
  openToolUses(): readonly ToolUse[] {
    return openToolUses(this.#messages.slice(this.#orderedCount));
  }
}

/**
 * Keeps a conversation between runs. A run takes the conversation, and nobody else has it
 * meanwhile, because the run changes it.
 */
export class KeptConversation {
  #conversation: Conversation | undefined;

  /** Returns the conversation of the last run, or a new one, with these messages. */
  take(messages: readonly Msg[]): Conversation {
    const conversation = this.#conversation ?? new Conversation();
    this.drop();
    conversation.load(messages);
    return conversation;
  }

  /** Keeps the conversation of a run that has ended. A run that read no message keeps nothing. */
  keep(conversation: Conversation): void {
    if (conversation.messages.length) this.#conversation = conversation;
  }

  /** Forgets the conversation, for example to free its memory. */
  drop(): void {
    this.#conversation = undefined;
  }
}
