import { AgentError } from '@isoloop/core';
import { jsonForm } from '@isoloop/core/message';
import type { RequestOptions } from '@isoloop/core/host';
import type { ApprovalResponse } from '../chat/approvals.ts';
import type { CallPart, Chat } from '../chat/chat.ts';
import type { ChatGate } from './chat-gate.ts';
import type { ChatStore } from '../chat/chat-store.ts';

/** Result of a tool call, or its error. */
export interface CallOutput {
  readonly toolCallId: string;
  readonly state?: 'output-available' | 'output-error';
  readonly output?: unknown;
  readonly errorText?: string;
}

/** What the person decides about tool calls. A failure becomes `error` of the hook. */
export class Decisions {
  readonly #chat: Chat;
  readonly #gate: ChatGate;
  readonly #store: ChatStore;

  constructor(chat: Chat, gate: ChatGate, store: ChatStore) {
    this.#chat = chat;
    this.#gate = gate;
    this.#store = store;
  }

  /** Decides about an approval request, and sends the decision. */
  decide({ id, ...decision }: ApprovalResponse, options?: RequestOptions): Promise<void> {
    return this.#change(options, (part) => {
      const { state, approval } = part;
      if (state !== 'approval-requested' || approval.id !== id) return undefined;
      const edit = 'input' in decision ? { input: editOf(decision.input) } : {};
      return {
        ...part,
        state: 'approval-responded',
        approval: { ...approval, ...decision, ...edit },
      };
    });
  }

  /** Adds the result of a tool call. A component may have it sent. */
  addOutput(
    { toolCallId, state = 'output-available', output, errorText }: CallOutput,
    options?: RequestOptions,
  ): Promise<void> {
    return this.#change(options, (part) => {
      if (part.toolCallId !== toolCallId) return undefined;
      if (state === 'output-error') return { ...part, state, errorText };
      return { ...part, state, output: jsonForm(output, 'The output') ?? null };
    });
  }

  /** `change` returns `undefined` for other calls. Resolves when the page shows the change. */
  #change(
    options: RequestOptions | undefined,
    change: (part: CallPart) => object | undefined,
  ): Promise<void> {
    const chat = this.#chat;
    return this.#store.attempt(async () => {
      await this.#gate.whenLoaded;
      const message = chat.changeCall(change);
      // At the end of an answer, the chat looks by itself for what to send.
      if (message && !chat.isBusy) void chat.sendDecided(message.id, options);
    });
  }
}

/** `undefined` would reach the agent as an approval of the arguments that the model wrote. */
function editOf(input: unknown): unknown {
  try {
    const edit = jsonForm(input, 'The edit');
    if (edit !== undefined) return edit;
    throw new TypeError('The edit is undefined.');
  } catch (cause) {
    const message = `The call still waits. ${(cause as Error).message}`;
    throw new AgentError('INVALID_DECISION', message, { cause });
  }
}
