import { AgentError } from '@isoloop/core';
import {
  hasApprovalResponse,
  type DataUIPart,
  type UiChunk,
  type UIMessage,
} from '@isoloop/core/stream';
import type { AgentLink, AnswerBatches, AnswerRequest, RequestOptions } from '@isoloop/core/host';
import { toUserMessage, type MessageInput } from '../queue/message-input.ts';
import { isDecided, isRefusedDecision, withOpenApprovals } from '../reading/agent-approvals.ts';
import { AnswerReader } from '../reading/answer-reader.ts';
import { isOpen, withChangedCall, type CallPart, type ChangeCall } from '../reading/call-parts.ts';
import { endOpenCalls } from '../reading/end-open-calls.ts';
import {
  hasCall,
  keepEqual,
  withCalls,
  withEarlierCall,
  withMessage,
  withRefusal,
} from '../reading/shown-messages.ts';
import { isLost } from '../source/lost-connection.ts';
import type { ChatStore } from './chat-store.ts';

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

/** Opens an answer. Returns `undefined` if there is none. */
type OpenAnswer = (signal: AbortSignal) => Promise<AnswerBatches | undefined>;

/** Sends the messages, and asks for an answer. */
type SendRequest = Omit<AnswerRequest, 'messages'>;

/** Asks for an answer that is on its way, and loads the history. */
interface ResumeRequest extends RequestOptions {
  readonly trigger: 'resume-stream';
  readonly open: OpenAnswer;
}

type ChatRequest = SendRequest | ResumeRequest;

/** The messages of a conversation and the requests that change them, one at a time. */
export class Chat {
  /** The agent that answers. */
  readonly #agent: Pick<AgentLink, 'send' | 'history'>;
  readonly #store: ChatStore;
  readonly #finishListeners: Set<(answer: FinishedAnswer) => void> = new Set();
  #reader: AnswerReader | undefined;
  #controller: AbortController | undefined;
  /** Settles when no answer is being read. Becomes whether the last answer is complete. */
  whenIdle: Promise<boolean> = Promise.resolve(true);
  /**
   * What the page has asked for and did not get. A message that failed stays here while the chat
   * tries in vain to resume its answer.
   */
  #failedTrigger: ChatRequest['trigger'] | undefined;
  /** Tool calls that the page has decided or given a result, and that the agent has not got. */
  #unsentCalls: readonly CallPart[] = [];
  /** Number of stops. A message whose files are still being read is not sent after a stop. */
  #stops = 0;

  constructor(agent: Pick<AgentLink, 'send' | 'history'>, store: ChatStore) {
    this.#agent = agent;
    this.#store = store;
  }

  get state(): ChatState {
    return this.#store.state.chat;
  }

  get isBusy(): boolean {
    return !['ready', 'error'].includes(this.state.status);
  }

  /** Whether the chat could not load, and no message has failed. A retry then loads it again. */
  get hasFailedToLoad(): boolean {
    return this.#failedTrigger === 'resume-stream';
  }

  /** Notes that a message of an earlier page has no answer yet. A retry sends it again. */
  noteUnanswered(): void {
    this.#failedTrigger = 'submit-message';
  }

  /** Calls `listener` when an answer has ended, before the components get it. */
  onFinish(listener: (answer: FinishedAnswer) => void): void {
    this.#finishListeners.add(listener);
  }

  /** Replaces the messages. Messages and parts that are equal stay the same objects. */
  setMessages(messages: readonly UIMessage[]): void {
    this.#unsentCalls = this.#unsentCalls.filter((call) => hasCall(messages, call));
    this.#replaceMessages(messages);
  }

  /** Shows the history of the agent, with the decisions and results that it has not got yet. */
  showHistory(history: readonly UIMessage[]): void {
    this.#replaceMessages(withCalls(history, this.#unsentCalls));
  }

  async sendMessage(input?: MessageInput, options: RequestOptions = {}): Promise<void> {
    const { messages } = this.state;
    if (!input) {
      const decided = messages.findLast(({ parts }) => parts.some(isDecided)) ?? messages.at(-1);
      return this.#request({ trigger: 'submit-message', messageId: decided?.id, ...options });
    }
    const stops = this.#stops;
    const message = await toUserMessage(input);
    // A request that loads the history would drop the message.
    while (this.#controller) await this.whenIdle;
    if (stops !== this.#stops) return;
    const { messageId } = input;
    const shownMessages = this.state.messages;
    const index =
      messageId === undefined ? shownMessages.length : indexOf(shownMessages, messageId, 'user');
    this.#store.setChat({ messages: [...shownMessages.slice(0, index), message] });
    return this.#request({ trigger: 'submit-message', messageId, ...options });
  }

  async regenerate({
    messageId,
    ...options
  }: RequestOptions & { readonly messageId?: string } = {}): Promise<void> {
    while (this.#controller) await this.whenIdle;
    const { messages } = this.state;
    const index = messageId === undefined ? messages.length - 1 : indexOf(messages, messageId);
    const isAnswer = messages[index]?.role === 'assistant';
    this.#store.setChat({ messages: messages.slice(0, isAnswer ? index : index + 1) });
    return this.#request({ trigger: 'regenerate-message', messageId, ...options });
  }

  /** Reads the answer that `open` returns, which also loads the history. */
  resume(open: OpenAnswer): Promise<void> {
    return this.#request({ trigger: 'resume-stream', open });
  }

  /** Drops messages whose files are still being read, and decisions that still wait. */
  dropUnsent(): void {
    this.#stops += 1;
    this.#dropDecisions();
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
   * Shows a decision about a tool call, or its result. Then sends a decision, and sends a result if
   * a component says so. Throws what `change` throws.
   */
  changeCall(change: ChangeCall, options?: RequestOptions): void {
    const { messages } = this.state;
    const changedCalls: CallPart[] = [];
    const nextMessages = messages.map((message) =>
      withChangedCall(message, (part) => {
        const changedCall = change(part) as CallPart | undefined;
        if (changedCall) changedCalls.push(changedCall);
        return changedCall;
      }),
    );
    const changedMessage = nextMessages.find((message, index) => message !== messages[index]);
    if (!changedMessage) return;
    this.#unsentCalls = [...this.#unsentCalls, ...changedCalls];
    this.#store.setChat({ messages: nextMessages });
    if (this.#reader) this.#reader.message = withChangedCall(this.#reader.message, change);
    // At the end of an answer, the chat looks by itself for what to send.
    if (!this.isBusy) void this.#sendDecided(changedMessage.id, options);
  }

  /** Makes a request, and then sends what was decided during its answer. */
  async #request(request: ChatRequest): Promise<void> {
    const isComplete = await this.#readAnswer(request);
    if (isComplete) await this.#sendDecided(this.state.messages.at(-1)?.id, request);
  }

  /** Sends the messages while they have a decision, or while a component says so. */
  async #sendDecided(
    firstId: string | undefined,
    { headers, body }: RequestOptions = {},
  ): Promise<void> {
    let messageId = firstId;
    for (let isComplete = true; isComplete;) {
      const stops = this.#stops;
      while (this.#controller && !this.isBusy) await this.whenIdle;
      const { whenIdle } = this;
      const { messages } = this.state;
      // The agent may have refused to load.
      if (!messages.length) return;
      const { components } = this.#store;
      // Waits in any case. So decisions that are made at once go in the request for the first one.
      const isReady = await (hasApprovalResponse({ messages }) || components.wantSent(messages));
      if (!isReady || this.isBusy || stops !== this.#stops) return;
      // A load since then may have changed the messages.
      if (whenIdle !== this.whenIdle) continue;
      isComplete = await this.#readAnswer({ trigger: 'submit-message', messageId, headers, body });
      messageId = this.state.messages.at(-1)?.id;
    }
  }

  /** Asks for an answer when no other is being read. Returns whether it is complete. */
  async #readAnswer(request: ChatRequest): Promise<boolean> {
    while (this.#controller) await this.whenIdle;
    const controller = new AbortController();
    this.#controller = controller;
    this.#store.runEvents.beginStream();
    this.whenIdle = this.#read(request, controller.signal).finally(() => {
      this.#controller = undefined;
      this.#reader = undefined;
    });
    return this.whenIdle;
  }

  /** Reads an answer to its end. Returns whether it is complete. */
  async #read(request: ChatRequest, signal: AbortSignal): Promise<boolean> {
    let error: Error | undefined;
    try {
      const opening =
        request.trigger === 'resume-stream'
          ? this.#resume(request, signal)
          : this.#send(request, signal);
      const batches = await opening;
      // After an abort, a worker still says how the turn has ended.
      for await (const batch of batches ?? []) this.#take(batch);
    } catch (thrown) {
      if (!signal.aborted && (thrown as Error).name !== 'AbortError') error = thrown as Error;
    }
    if (error || signal.aborted || this.#reader?.isAborted) this.#dropDecisions();
    if (error) this.#fail(error, request.trigger);
    else this.#failedTrigger = undefined;
    if (this.#reader?.isAborted) this.#endOpenCalls();
    // A resumed stream repeats the calls as the agent has them.
    const messages = withCalls(this.state.messages, this.#unsentCalls);
    this.#store.setChat({ status: error ? 'error' : 'ready', error, messages });
    return this.#finish(error, signal);
  }

  async #resume({ open }: ResumeRequest, signal: AbortSignal): Promise<AnswerBatches | undefined> {
    const batches = await open(signal);
    if (batches && !signal.aborted) this.#expect(batches.continued);
    return batches;
  }

  async #send(request: SendRequest, signal: AbortSignal): Promise<AnswerBatches> {
    const { messages } = this.state;
    const sentCalls = this.#unsentCalls;
    const askedMessage = messages.find(({ id }) => id === request.messageId) ?? messages.at(-1);
    const continues = request.trigger === 'submit-message' && askedMessage?.role === 'assistant';
    this.#expect(continues ? askedMessage : undefined);
    try {
      const batches = await this.#agent.send({ ...request, messages }, signal);
      this.#forgetCalls(sentCalls);
      return batches;
    } catch (error) {
      // The agent may not have got the results.
      if (isLost(error)) throw error;
      this.#forgetCalls(sentCalls);
      // A tool call whose decision was refused still waits.
      if (messages.at(-1)?.role === 'assistant') await this.#reload();
      throw error;
    }
  }

  async #reload(): Promise<void> {
    const history = this.#agent.history();
    this.showHistory(await history.catch(() => this.state.messages));
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
        const earlier = reader.message;
        const messages = withEarlierCall(this.state.messages, chunk, earlier.id);
        if (messages) {
          this.#store.setChat({ messages });
          continue;
        }
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

  /** Lets the next load open the decided calls again. Results stay for the next message. */
  #dropDecisions(): void {
    this.#unsentCalls = this.#unsentCalls.filter((call) => !isOpen(call));
  }

  #forgetCalls(calls: readonly CallPart[]): void {
    this.#unsentCalls = this.#unsentCalls.filter((call) => !calls.includes(call));
  }

  #replaceMessages(messages: readonly UIMessage[]): void {
    this.#store.setChat({ messages: keepEqual(messages, this.state.messages) });
  }

  #show(message: UIMessage, status: ChatStatus): void {
    this.#store.setChat({ status, messages: withMessage(this.state.messages, message) });
  }

  /** Shows the last answer as the log has it after a stop. */
  #endOpenCalls(): void {
    this.#store.setChat({ messages: endOpenCalls(this.state.messages) });
  }

  /** Keeps what has failed, and shows what the agent has refused. */
  #fail(error: Error, trigger: ChatRequest['trigger']): void {
    if (!this.#failedTrigger || trigger !== 'resume-stream') this.#failedTrigger = trigger;
    if (isRefusedDecision(error)) this.setMessages(withOpenApprovals(this.state.messages));
    if (trigger === 'submit-message')
      this.#store.setChat({ messages: withRefusal(this.state.messages, error) });
  }

  /** Tells that an answer has ended. Returns whether it is complete. */
  #finish(error: Error | undefined, signal: AbortSignal): boolean {
    if (!this.#reader) return false;
    const { messages } = this.state;
    const { message, finishReason } = this.#reader;
    const isAbort = signal.aborted || this.#reader.isAborted;
    const isError = error !== undefined;
    const isDisconnect = isLost(error);
    const answer = { message, messages, isAbort, isDisconnect, isError, finishReason };
    for (const listener of this.#finishListeners) listener(answer);
    this.#store.components.tell(({ onFinish }) => onFinish?.(answer));
    return !isAbort && !isError;
  }
}

/** Returns the place of a message. Throws `INVALID_INPUT` if there is none. */
function indexOf(
  messages: readonly UIMessage[],
  messageId: string,
  expectedRole?: UIMessage['role'],
): number {
  const index = messages.findIndex(
    ({ id, role }) => id === messageId && role === (expectedRole ?? role),
  );
  if (index >= 0) return index;
  throw new AgentError('INVALID_INPUT', `There is no such message: ${messageId}.`);
}
