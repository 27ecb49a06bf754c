import { AgentError } from '@isoloop/core';
import {
  hasApprovalResponse,
  isToolUIPart,
  type DataUIPart,
  type UiChunk,
  type UIMessage,
  type UIMessagePart,
} from '@isoloop/core/stream';
import type { AgentLink, AnswerBatches, AnswerRequest, RequestOptions } from '@isoloop/core/host';
import { isLost } from '../source/lost-connection.ts';
import {
  isDecided,
  isRefusedDecision,
  withOpenApprovals,
  withResponse,
  type ApprovalResponse,
} from '../reading/agent-approvals.ts';
import { AnswerReader } from '../reading/answer-reader.ts';
import {
  isOpen,
  withChangedCall,
  withOutput,
  type CallOutput,
  type ChangeCall,
} from '../reading/call-parts.ts';
import type { ChatStore } from './chat-store.ts';
import { isEqual } from '../reading/is-equal.ts';
import { toUserMessage, type MessageInput } from '../queue/message-input.ts';
import { endOpenCalls } from '../reading/end-open-calls.ts';

/** `submitted`: an answer was asked for. `streaming`: it arrives. */
export type ChatStatus = 'submitted' | 'streaming' | 'ready' | 'error';

/** Is replaced at each change. */
export interface ChatState {
  readonly messages: readonly UIMessage[];
  readonly status: ChatStatus;
  readonly error?: Error | undefined;
}

/** What `onFinish` gets when an answer has ended. */
export interface FinishedAnswer<M extends UIMessage = UIMessage> {
  readonly message: M;
  readonly messages: readonly M[];
  /** Whether `stop()` has ended the answer. */
  readonly isAbort: boolean;
  /** Whether the connection was lost. The chat then tries to read the answer on. */
  readonly isDisconnect: boolean;
  readonly isError: boolean;
  readonly finishReason?: string | undefined;
}

/** Tool call of the model, without the calls of tools that the provider runs. */
export interface CalledTool {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

export interface ChatOptions {
  /** The agent that answers. `whenLoaded`: settles when the history is complete. */
  readonly connection: Pick<AgentLink, 'send' | 'history'> & { readonly whenLoaded: Promise<void> };
  /** Where the chat keeps its messages. */
  readonly store: ChatStore;
  /** Called when an answer has ended. */
  onFinish(answer: FinishedAnswer): void;
}

/** Opens an answer. Returns `undefined` if there is none. */
type OpenAnswer = (signal: AbortSignal) => Promise<AnswerBatches | undefined>;

type RequestedAnswer = RequestOptions & {
  readonly trigger: AnswerRequest['trigger'] | 'resume-stream';
  readonly messageId?: string | undefined;
};

/** The messages of a conversation and the requests that change them, one at a time. */
export class Chat {
  readonly #options: ChatOptions;
  readonly #store: ChatStore;
  #reader: AnswerReader | undefined;
  #controller: AbortController | undefined;
  /** Settles when no answer is being read. Becomes whether the last answer is complete. */
  whenIdle: Promise<boolean> = Promise.resolve(true);
  /**
   * What the page has asked for and did not get. A message that failed stays here while the chat
   * tries in vain to resume its answer.
   */
  failedTrigger: RequestedAnswer['trigger'] | undefined;
  /** Number of stops. A message whose files are still being read is not sent after a stop. */
  #stops = 0;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  get state(): ChatState {
    return this.#store.state.chat;
  }

  get isBusy(): boolean {
    return !['ready', 'error'].includes(this.state.status);
  }

  /** Replaces the messages. Messages and parts that are equal stay the same objects. */
  setMessages(messages: readonly UIMessage[]): void {
    const shownMessages = this.state.messages;
    const earlierById = new Map(shownMessages.map((message) => [message.id, message]));
    const nextMessages = messages.map((message) => keepEqual(message, earlierById.get(message.id)));
    this.#store.setChat({
      messages: isEqual(nextMessages, shownMessages) ? shownMessages : nextMessages,
    });
  }

  async sendMessage(input?: MessageInput, options: RequestOptions = {}): Promise<void> {
    const { messages } = this.state;
    if (!input) {
      const decided = messages.findLast(({ parts }) => parts.some(isDecided)) ?? messages.at(-1);
      return this.#send({ trigger: 'submit-message', messageId: decided?.id, ...options });
    }
    const stops = this.#stops;
    const message = await toUserMessage(input);
    // A request that loads the history would drop the message.
    while (this.#controller) await this.whenIdle;
    if (stops !== this.#stops) return;
    const { messageId } = input;
    const shownMessages = this.state.messages;
    const index = messageId === undefined ? shownMessages.length : this.#indexOf(messageId, 'user');
    this.#store.setChat({ messages: [...shownMessages.slice(0, index), message] });
    return this.#send({ trigger: 'submit-message', messageId, ...options });
  }

  async regenerate({
    messageId,
    ...options
  }: RequestOptions & { readonly messageId?: string } = {}): Promise<void> {
    while (this.#controller) await this.whenIdle;
    const { messages } = this.state;
    const index = messageId === undefined ? messages.length - 1 : this.#indexOf(messageId);
    const isAnswer = messages[index]?.role === 'assistant';
    this.#store.setChat({ messages: messages.slice(0, isAnswer ? index : index + 1) });
    return this.#send({ trigger: 'regenerate-message', messageId, ...options });
  }

  /** Reads the answer that `openAnswer` returns, which also loads the history. */
  resume(openAnswer: OpenAnswer): Promise<void> {
    return this.#request({ trigger: 'resume-stream' }, async (signal) => {
      const batches = await openAnswer(signal);
      if (batches && !signal.aborted) this.#expect(batches.continued);
      return batches;
    });
  }

  /** Drops messages whose files are still being read. */
  dropUnsent(): void {
    this.#stops += 1;
  }

  /**
   * Ends the reading, and keeps what has arrived. `endsTurn`: the turn ends with it, so the page
   * shows its calls without a result as interrupted.
   */
  async stop({ endsTurn = false }: { readonly endsTurn?: boolean } = {}): Promise<void> {
    this.dropUnsent();
    this.#controller?.abort();
    await this.whenIdle;
    if (endsTurn) this.#endOpenCalls();
  }

  clearError(): void {
    if (this.state.status === 'error') this.#store.setChat({ status: 'ready', error: undefined });
  }

  /**
   * Decides about an approval request, and sends the decision. Resolves when the page shows it. A
   * failure becomes `error` of the hook.
   */
  decide(response: ApprovalResponse, options?: RequestOptions): Promise<void> {
    return this.#changeCall((part) => withResponse(part, response), options);
  }

  /** Adds the result of a tool call in the same way. It is sent if a component says so. */
  addOutput(output: CallOutput, options?: RequestOptions): Promise<void> {
    return this.#changeCall((part) => withOutput(part, output), options);
  }

  #changeCall(change: ChangeCall, options?: RequestOptions): Promise<void> {
    return this.#store.attempt(async () => {
      await this.#options.connection.whenLoaded;
      const { messages } = this.state;
      const nextMessages = messages.map((message) => withChangedCall(message, change));
      const changedMessage = nextMessages.find((message, index) => message !== messages[index]);
      if (!changedMessage) return;
      this.#store.setChat({ messages: nextMessages });
      if (this.#reader) this.#reader.message = withChangedCall(this.#reader.message, change);
      // At the end of an answer, the chat looks by itself for what to send.
      if (!this.isBusy) void this.#sendDecided(changedMessage.id, options);
    });
  }

  /** Sends the messages if they have a decision, or if a component says so. */
  async #sendDecided(messageId: string | undefined, options?: RequestOptions): Promise<void> {
    const stops = this.#stops;
    const { messages } = this.state;
    const { components } = this.#store;
    // Waits in any case. So decisions that are made at once go in the request for the first one.
    const isReady = await (hasApprovalResponse({ messages }) || components.wantSent(messages));
    if (!isReady || this.isBusy || stops !== this.#stops) return;
    await this.#send({ ...options, trigger: 'submit-message', messageId });
  }

  /** Shows the last answer as the log has it after a stop. */
  #endOpenCalls(): void {
    const { messages } = this.state;
    const answer = messages.at(-1);
    if (answer?.role !== 'assistant') return;
    const endedAnswer = endOpenCalls(answer);
    this.#store.setChat({
      messages: [...messages.slice(0, -1), ...(endedAnswer ? [endedAnswer] : [])],
    });
  }

  #indexOf(messageId: string, expectedRole?: UIMessage['role']): number {
    const index = this.state.messages.findIndex(
      ({ id, role }) => id === messageId && role === (expectedRole ?? role),
    );
    if (index >= 0) return index;
    throw new AgentError('INVALID_INPUT', `There is no such message: ${messageId}.`);
  }

  /** Sends the messages, and reads the answer. */
  #send(request: RequestedAnswer & Pick<AnswerRequest, 'trigger'>): Promise<void> {
    return this.#request(request, async (signal) => {
      const { messages } = this.state;
      const askedMessage = messages.find(({ id }) => id === request.messageId) ?? messages.at(-1);
      const continues = request.trigger === 'submit-message' && askedMessage?.role === 'assistant';
      this.#expect(continues ? askedMessage : undefined);
      try {
        return await this.#options.connection.send({ ...request, messages }, signal);
      } catch (error) {
        // A tool call whose decision was refused still waits.
        if (!isLost(error) && messages.at(-1)?.role === 'assistant') await this.#reload();
        throw error;
      }
    });
  }

  async #reload(): Promise<void> {
    const history = this.#options.connection.history();
    this.setMessages(await history.catch(() => this.state.messages));
  }

  async #request(request: RequestedAnswer, openAnswer: OpenAnswer): Promise<void> {
    while (this.#controller) await this.whenIdle;
    const controller = new AbortController();
    this.#controller = controller;
    this.#store.runEvents.beginStream();
    this.whenIdle = this.#answer(request.trigger, openAnswer, controller.signal).finally(() => {
      this.#controller = undefined;
      this.#reader = undefined;
    });
    if (await this.whenIdle) await this.#sendDecided(this.state.messages.at(-1)?.id, request);
  }

  /** Reads an answer to its end. Returns whether it is complete. */
  async #answer(
    trigger: RequestedAnswer['trigger'],
    openAnswer: OpenAnswer,
    signal: AbortSignal,
  ): Promise<boolean> {
    let error: Error | undefined;
    try {
      const batches = await openAnswer(signal);
      // After an abort, a worker still says how the turn has ended.
      for await (const batch of batches ?? []) this.#take(batch);
    } catch (thrown) {
      if (!signal.aborted && (thrown as Error).name !== 'AbortError') error = thrown as Error;
    }
    if (error) this.#fail(error, trigger);
    else this.failedTrigger = undefined;
    if (this.#reader?.isAborted) this.#endOpenCalls();
    this.#store.setChat({ status: error ? 'error' : 'ready', error });
    return this.#finish(error, signal);
  }

  /** Keeps what has failed, and shows what the agent has refused. */
  #fail(error: Error, trigger: RequestedAnswer['trigger']): void {
    if (!this.failedTrigger || trigger !== 'resume-stream') this.failedTrigger = trigger;
    if (isRefusedDecision(error)) this.setMessages(withOpenApprovals(this.state.messages));
    if (trigger === 'submit-message') this.#markRefused(error);
  }

  /** Tells that an answer has ended. Returns whether it is complete. */
  #finish(error: Error | undefined, signal: AbortSignal): boolean {
    if (!this.#reader) return false;
    const { messages } = this.state;
    const { message, finishReason } = this.#reader;
    const isAbort = signal.aborted || this.#reader.isAborted;
    const isDisconnect = isLost(error);
    const isError = !!error;
    this.#options.onFinish({ message, messages, isAbort, isDisconnect, isError, finishReason });
    return !isAbort && !isError;
  }

  /** Marks the last message if it is a question that got an error in place of an answer. */
  #markRefused(error: Error): void {
    const { messages } = this.state;
    const question = messages.at(-1);
    // After a lost connection, the chat tries to read the answer on.
    if (question?.role !== 'user' || error instanceof TypeError) return;
    const { code, message } = error as Partial<AgentError>;
    const metadata = { ...(question.metadata as object), error: { code, message } };
    this.#store.setChat({ messages: [...messages.slice(0, -1), { ...question, metadata }] });
  }

  /** `message`: the answer that is continued. Default: a new one. */
  #expect(message: UIMessage = { id: crypto.randomUUID(), role: 'assistant', parts: [] }): void {
    this.#reader = new AnswerReader(message);
    this.#store.setChat({ status: 'submitted', error: undefined });
  }

  /** Reads a batch, and shows it at once. */
  #take(batch: readonly UiChunk[]): void {
    const reader = this.#reader!;
    const firstMessage = reader.message;
    let { status } = this.state;
    try {
      for (const chunk of batch) {
        if (this.#endsEarlierCall(chunk)) continue;
        const earlier = reader.message;
        reader.take(chunk);
        const { message } = reader;
        // A replay may begin another message.
        if (message.id !== earlier.id && earlier.parts.length) this.#show(earlier, status);
        if (message !== earlier && !chunk.type.startsWith('start')) status = 'streaming';
        if ('data' in chunk) this.#store.addData(chunk as DataUIPart);
        if (chunk.type === 'tool-input-available' && !chunk.providerExecuted)
          this.#store.components.tellCall(chunk);
      }
    } finally {
      if (reader.message !== firstMessage) this.#show(reader.message, status);
    }
  }

  /**
   * Shows how an open call of an earlier answer ends, for example because a new message denies it.
   * Returns false for all other chunks.
   */
  #endsEarlierCall(chunk: UiChunk): boolean {
    const id = 'approvalId' in chunk ? chunk.approvalId : Object(chunk).toolCallId;
    if (id === undefined || chunk.type === 'tool-input-start') return false;
    const { messages, status } = this.state;
    const isSought = (part: UIMessagePart): boolean =>
      isToolUIPart(part) && part.toolCallId === id && isOpen(part);
    const message = messages.findLast(({ parts }) => parts.some(isSought));
    if (!message || message.id === this.#reader!.message.id) return false;
    // The call is shown already.
    if (chunk.type === 'tool-input-available') return true;
    const reader = new AnswerReader(message);
    reader.take(chunk);
    this.#show(reader.message, status);
    return true;
  }

  #show(message: UIMessage, status: ChatStatus): void {
    const { messages } = this.state;
    const index = messages.findLastIndex(({ id }) => id === message.id);
    const nextMessages = index < 0 ? [...messages, message] : messages.with(index, message);
    this.#store.setChat({ status, messages: nextMessages });
  }
}

/** Returns the earlier message or its parts where they are equal, so that React knows them. */
function keepEqual(message: UIMessage, earlier: UIMessage | undefined): UIMessage {
  if (!earlier || message === earlier) return message;
  const earlierParts = earlier.parts;
  const parts = message.parts.map((part, at) =>
    isEqual(part, earlierParts[at]) ? earlierParts[at]! : part,
  );
  const mergedMessage = { ...message, parts };
  return isEqual(mergedMessage, earlier) ? earlier : mergedMessage;
}
