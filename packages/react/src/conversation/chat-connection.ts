import { AgentError } from '@isoloop/core';
import type { UIMessage } from '@isoloop/core/stream';
import type { AgentLink, AnswerBatches, AnswerRequest } from '@isoloop/core/host';
import { SentMessage } from '../queue/sent-message.ts';

/** Connection of a chat to its agent, and the message that is on its way. */
export class ChatConnection {
  readonly #openLink: () => AgentLink;
  #link: AgentLink | undefined;
  #sent: SentMessage | undefined;
  #whenSent: Promise<unknown> | undefined;

  constructor(openLink: () => AgentLink) {
    this.#openLink = openLink;
  }

  get isOpen(): boolean {
    return this.#link !== undefined;
  }

  /** Throws `ABORTED` if the chat is closed. */
  get link(): AgentLink {
    if (this.#link) return this.#link;
    throw new AgentError('ABORTED', 'The chat is closed.');
  }

  /** What the tab remembers of the last message. Absent for a worker, and if the chat is closed. */
  get sent(): SentMessage | undefined {
    return this.#sent;
  }

  /** Settles when the agent answers the last request with a stream. Absent if it has. */
  get whenSent(): Promise<unknown> | undefined {
    return this.#whenSent;
  }

  open(): AgentLink {
    const link = this.#openLink();
    const { pageKey } = link;
    this.#link = link;
    this.#sent = pageKey ? new SentMessage(pageKey) : undefined;
    return link;
  }

  /**
   * Leaves the link, which the caller closes. The end of a reading is not the end of its answer.
   */
  leave(): AgentLink {
    const { link } = this;
    this.#link = undefined;
    this.#sent?.forget();
    this.#sent = undefined;
    return link;
  }

  async send(request: AnswerRequest, signal: AbortSignal): Promise<AnswerBatches> {
    const { link } = this;
    this.#sent?.set(request.messages.at(-1)!);
    const sending = link.send(request, signal);
    this.#whenSent = sending.catch(() => {});
    return sending.finally(() => (this.#whenSent = undefined));
  }

  async history(): Promise<readonly UIMessage[]> {
    return this.link.history();
  }
}
