import type { Msg } from '../../message/msg.ts';
import type { RunSetup } from './run-setup.ts';
import type { LoggedConversation } from './logged-conversation.ts';

/** What the next model request says: the system prompt, added messages, the conversation. */
export class RequestPrompt {
  base: string;
  /** Texts that follow the base in the system prompt. */
  readonly added: string[] = [];
  /** Messages between system prompt and conversation. Never stored. */
  readonly prepended: Msg[] = [];
  readonly #setup: RunSetup;
  readonly #log: LoggedConversation;

  constructor(setup: RunSetup, log: LoggedConversation) {
    this.#setup = setup;
    this.#log = log;
    this.base = setup.options.systemPrompt ?? '';
  }

  /** The whole system prompt. */
  get text(): string {
    return [this.base, ...this.added].filter((text) => text.trim()).join('\n\n');
  }

  /** The messages of the next request before middleware changes them. */
  get messages(): readonly Msg[] {
    const { text, prepended } = this;
    return [...this.#setup.systemMessages(text), ...prepended, ...this.#log.messages];
  }
}
