import { messageIdOf } from '@isoloop/core/host';
import type { AnswerText } from './answer-text.ts';
import type { ItemRef, UnnumberedEvent } from './response-event.ts';
import {
  outputTextPart,
  type ResponseMessage,
  type ResponseReasoning,
  type ResponseStatus,
  type UrlCitation,
} from './response-object.ts';

export type EmitEvent = (event: UnnumberedEvent) => void;

interface Part {
  readonly blockId: string;
  text: string;
  annotations: readonly UrlCitation[];
}

/**
 * A message, or reasoning, that is being streamed. Each block of the reply is a part of the item.
 */
export class TextItem {
  readonly type: 'message' | 'reasoning';
  /** Whether the item belongs to a reply that was discarded. */
  isDiscarded = false;
  readonly #ref: ItemRef;
  readonly #emit: EmitEvent;
  readonly #parts: Part[] = [];
  #status: ResponseStatus = 'in_progress';
  #phase: ResponseMessage['phase'];

  constructor(type: 'message' | 'reasoning', ref: ItemRef, emit: EmitEvent) {
    this.type = type;
    this.#ref = ref;
    this.#emit = emit;
    emit({ type: 'response.output_item.added', output_index: ref.output_index, item: this.item });
  }

  get isOpen(): boolean {
    return this.#status === 'in_progress';
  }

  get texts(): readonly string[] {
    return this.#parts.map(({ text }) => text);
  }

  get item(): ResponseMessage | ResponseReasoning {
    const id = this.#ref.item_id;
    const status = this.#status;
    if (this.type === 'reasoning') {
      return { type: 'reasoning', id, status, summary: this.texts.map(summaryText) };
    }
    return {
      type: 'message',
      id,
      status,
      role: 'assistant',
      content: this.#parts.map(({ text, annotations }) => outputTextPart(text, annotations)),
      ...(this.#phase && { phase: this.#phase }),
    };
  }

  add(blockId: string, delta: string): void {
    let index = this.#parts.findIndex((part) => part.blockId === blockId);
    if (index < 0) {
      index = this.#parts.push({ blockId, text: '', annotations: [] }) - 1;
      this.#emitPart('added', index, '');
    }
    const part = this.#parts[index]!;
    part.text += delta;
    if (this.type === 'message') {
      const type = 'response.output_text.delta';
      this.#emit({ type, ...this.#ref, content_index: index, delta, logprobs: [] });
    } else {
      const type = 'response.reasoning_summary_text.delta';
      this.#emit({ type, ...this.#ref, summary_index: index, delta });
    }
  }

  /** Returns whether a block belongs to the message of the item. */
  isOf(blockId: string): boolean {
    const [first] = this.#parts;
    return !first || messageIdOf(first.blockId) === messageIdOf(blockId);
  }

  /** Returns whether each final text begins with the text that was sent. */
  canComplete(texts: readonly AnswerText[]): boolean {
    return this.#parts.every((part, index) => texts[index]?.text.startsWith(part.text));
  }

  /** Sends the rest of each final text, and its citations. */
  complete(texts: readonly AnswerText[]): void {
    for (const [index, { text, annotations }] of texts.entries()) {
      const part = this.#parts[index];
      if (!part) this.add(`final-${index}`, text);
      else if (text !== part.text) this.add(part.blockId, text.slice(part.text.length));
      this.#parts[index]!.annotations = annotations;
      for (const [number, annotation] of annotations.entries()) {
        const type = 'response.output_text.annotation.added';
        const ref = { ...this.#ref, content_index: index, annotation_index: number };
        this.#emit({ type, ...ref, annotation });
      }
    }
  }

  close(status: 'completed' | 'incomplete', phase?: ResponseMessage['phase']): void {
    for (const [index, { text, annotations }] of this.#parts.entries()) {
      if (this.type === 'message') {
        const type = 'response.output_text.done';
        this.#emit({ type, ...this.#ref, content_index: index, text, logprobs: [] });
      } else {
        const type = 'response.reasoning_summary_text.done';
        this.#emit({ type, ...this.#ref, summary_index: index, text });
      }
      this.#emitPart('done', index, text, annotations);
    }
    this.#status = status;
    this.#phase = phase;
    const { item } = this;
    this.#emit({ type: 'response.output_item.done', output_index: this.#ref.output_index, item });
  }

  #emitPart(
    step: 'added' | 'done',
    index: number,
    text: string,
    annotations: readonly UrlCitation[] = [],
  ): void {
    if (this.type === 'message') {
      const type = `response.content_part.${step}` as const;
      this.#emit({
        type,
        ...this.#ref,
        content_index: index,
        part: outputTextPart(text, annotations),
      });
    } else {
      const type = `response.reasoning_summary_part.${step}` as const;
      this.#emit({ type, ...this.#ref, summary_index: index, part: summaryText(text) });
    }
  }
}

function summaryText(text: string): ResponseReasoning['summary'][number] {
  return { type: 'summary_text', text };
}
