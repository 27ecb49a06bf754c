import type { AgentEvent, AgentResult, EventBatch, Msg } from '@isoloop/core';
import { arePending, argumentsText, externalCalls, withdrawnCallError } from '../external-calls.ts';
import { toOpenAiError } from '@isoloop/edge/api';
import { answerTexts, emptyText, messageTexts, type AnswerText } from './answer-text.ts';
import { CallItem } from './call-item.ts';
import { finishedResponse, itemStatus, phaseOf } from './finished-response.ts';
import {
  pushJoined,
  type ItemRef,
  type ResponseEvent,
  type UnnumberedEvent,
} from './response-event.ts';
import {
  itemId,
  responseObject,
  type ResponseItem,
  type ResponseObject,
  type ResponseOptions,
} from './response-object.ts';
import { TextItem } from './text-item.ts';

export interface ResponsesEncoderOptions extends ResponseOptions {
  /**
   * Returns whether a tool is external. The arguments of external tool calls are then sent while
   * the model writes them, and cannot be taken back. The stream ends with an error if a hook or a
   * person changes such a tool call, or a limit rejects it. Default: tool calls are sent as a
   * whole, at the end.
   */
  readonly isExternal?: (name: string) => boolean;
}

interface ResponsesEncoder {
  encode(batch: EventBatch): readonly ResponseEvent[];
}

/**
 * Creates an encoder that converts agent events to the events of OpenAI's Responses API, and joins
 * adjacent deltas. Use one encoder per run. Each reply becomes one message. Tool calls that the
 * agent runs itself are not sent. External tool calls end the run and become `function_call` items.
 *
 * After a `step-reset`, the items of the discarded reply end with the status `incomplete`. The
 * finished response does not contain them. An error becomes an `error` event and `response.failed`.
 */
export function createResponsesEncoder(options: ResponsesEncoderOptions): ResponsesEncoder {
  const encoder = new Encoder(options);
  let eventCount = 0;
  return {
    encode: (batch) => {
      // The output of an agent that runs as a tool is for the calling agent, not for the reader.
      for (const event of batch) if (event.agentPath.length < 2) encoder.encode(event);
      return encoder.take().map((event) => ({ ...event, sequence_number: eventCount++ }));
    },
  };
}

type EndStatus = 'completed' | 'incomplete' | 'failed';

class Encoder {
  readonly #options: ResponsesEncoderOptions;
  readonly #items: (TextItem | CallItem)[] = [];
  /** Calls that were sent, by the id of the tool call. */
  readonly #calls: Map<string, CallItem> = new Map();
  #events: UnnumberedEvent[] = [];
  /** Index of the first item of the current reply. */
  #reply = 0;

  constructor(options: ResponsesEncoderOptions) {
    this.#options = options;
  }

  take(): readonly UnnumberedEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  encode(event: AgentEvent): void {
    switch (event.type) {
      case 'run-start': {
        const response = this.#response('in_progress');
        this.#emit({ type: 'response.created', response });
        return this.#emit({ type: 'response.in_progress', response });
      }
      case 'pre-reasoning':
      case 'pre-summary':
        this.#reply = this.#items.length;
        return;
      case 'reasoning-chunk':
        if (event.kind === 'text') this.#text(event.blockId, event.delta);
        else if (this.#options.reasoning !== false) this.#thinking(event.blockId, event.delta);
        return;
      case 'summary-chunk':
        return this.#text(event.blockId, event.delta);
      case 'tool-input-chunk':
        if (this.#options.isExternal?.(event.name))
          this.#call(event.toolUseId, event.name).add(event.delta);
        return;
      case 'post-reasoning':
      case 'post-summary':
        return this.#endReply(event.message);
      case 'step-reset':
        return this.#discard();
      case 'error':
        return this.#fail(event.error);
      case 'run-end':
        return event.result.reason === 'error' ? undefined : this.#end(event.result);
      default:
    }
  }

  #text(blockId: string, delta: string): void {
    if (this.#options.sendsWholeText) return;
    this.#endThinking();
    const openMessage = this.#openText('message');
    // The text of an interrupt, or of a guard, is not part of the reply that it ended.
    if (openMessage?.isOf(blockId) === false) openMessage.close('incomplete');
    (this.#openText('message') ?? this.#addText('message')).add(blockId, delta);
  }

  #thinking(blockId: string, delta: string): void {
    (this.#openText('reasoning') ?? this.#addText('reasoning')).add(blockId, delta);
  }

  #call(toolUseId: string, name: string): CallItem {
    const sentCall = this.#calls.get(toolUseId);
    if (sentCall) return sentCall;
    this.#endThinking();
    const emit = this.#emit.bind(this);
    const call = new CallItem(toolUseId, name, this.#newRef('function_call'), emit);
    this.#items.push(call);
    this.#calls.set(toolUseId, call);
    return call;
  }

  /** Ends the items of the reply, with the texts of its message. Hooks may have changed them. */
  #endReply(message: Msg): void {
    this.#endThinking();
    const texts = this.#options.sendsWholeText ? [] : messageTexts(message);
    if (texts.length || this.#openText('message')) this.#completeTexts(message, texts);
  }

  /** Ends the open message, or a new one, with the final texts. */
  #completeTexts(message: Msg, texts: readonly AnswerText[]): void {
    let item = this.#openText('message') ?? this.#addText('message');
    if (!item.canComplete(texts)) {
      item.isDiscarded = true;
      item.close('incomplete');
      item = this.#addText('message');
    }
    item.complete(texts);
    item.close(itemStatus(message), phaseOf(message));
  }

  #endThinking(): void {
    this.#openText('reasoning')?.close('completed');
  }

  #discard(): void {
    for (const item of this.#items.slice(this.#reply)) {
      // A tool call cannot be taken back. `#end` detects a withdrawn call.
      if (item instanceof CallItem) continue;
      item.isDiscarded = true;
      if (item.isOpen) item.close('incomplete');
    }
    this.#reply = this.#items.length;
  }

  #end(result: AgentResult): void {
    const calls = externalCalls(result);
    const sentArguments = new Map([...this.#calls].map(([id, { text }]) => [id, text]));
    if (!arePending(calls, sentArguments)) return this.#fail(withdrawnCallError);
    this.#endThinking();
    if (result.reason === 'rejected') this.#withhold();
    this.#endText(result);
    for (const call of calls) {
      const item = this.#call(call.toolUseId, call.name);
      // A model may write no arguments for a tool without parameters, but the client expects JSON.
      if (!item.text.trim()) item.add(argumentsText(call));
      item.close();
    }
    const response = finishedResponse(result, this.#options, this.#output());
    this.#emit({ type: `response.${response.status as EndStatus}`, response });
  }

  /** Leaves the part of the reply that was sent before its rejection out of the response. */
  #withhold(): void {
    for (const item of this.#items.slice(this.#reply))
      if (item instanceof TextItem && !item.isOpen) item.isDiscarded = true;
  }

  /** Sends the text of the answer, if it is not the last reply that was sent. */
  #endText(result: AgentResult): void {
    const texts = answerTexts(result, this.#options);
    const lastMessage = this.#items.findLast(
      (item): item is TextItem =>
        item instanceof TextItem && item.type === 'message' && !item.isDiscarded,
    );
    if (!lastMessage?.isOpen) {
      const isSent =
        JSON.stringify(lastMessage?.texts) === JSON.stringify(texts.map(({ text }) => text));
      if (isSent || (!texts.length && this.#output().length)) return;
    }
    this.#completeTexts(result.message, texts.length ? texts : [emptyText]);
  }

  #fail(error: { readonly code: string; readonly message: string }): void {
    const { code, message } = error;
    const { type } = toOpenAiError(error).error;
    const param = null;
    this.#emit({ type: 'error', code, message, param, error: { type, code, message, param } });
    const response = { ...this.#response('failed'), error: { code, message } };
    this.#emit({ type: 'response.failed', response });
  }

  #response(status: ResponseObject['status']): ResponseObject {
    return responseObject(this.#options, { status, output: this.#output() });
  }

  #output(): readonly ResponseItem[] {
    return this.#items
      .filter((item) => item instanceof CallItem || !item.isDiscarded)
      .map(({ item }) => item);
  }

  #openText(type: TextItem['type']): TextItem | undefined {
    return this.#items.find(
      (item): item is TextItem => item instanceof TextItem && item.type === type && item.isOpen,
    );
  }

  #addText(type: TextItem['type']): TextItem {
    const item = new TextItem(type, this.#newRef(type), this.#emit.bind(this));
    this.#items.push(item);
    return item;
  }

  #newRef(type: ResponseItem['type']): ItemRef {
    const index = this.#items.length;
    return { item_id: itemId(type, this.#options.id, index), output_index: index };
  }

  #emit(event: UnnumberedEvent): void {
    pushJoined(this.#events, event);
  }
}
