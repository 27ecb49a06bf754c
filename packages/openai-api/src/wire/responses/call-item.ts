import type { ItemRef } from './response-event.ts';
import type { ResponseFunctionCall } from './response-object.ts';
import type { EmitEvent } from './text-item.ts';

/** A call of one of the client's tools that is being streamed. */
export class CallItem {
  /** Arguments that were sent so far, as JSON text. */
  text = '';
  isOpen = true;
  readonly #ref: ItemRef;
  readonly #emit: EmitEvent;
  readonly #call: { readonly call_id: string; readonly name: string };

  constructor(callId: string, name: string, ref: ItemRef, emit: EmitEvent) {
    this.#call = { call_id: callId, name };
    this.#ref = ref;
    this.#emit = emit;
    emit({ type: 'response.output_item.added', output_index: ref.output_index, item: this.item });
  }

  get item(): ResponseFunctionCall {
    return {
      type: 'function_call',
      id: this.#ref.item_id,
      status: this.isOpen ? 'in_progress' : 'completed',
      ...this.#call,
      arguments: this.text,
    };
  }

  add(delta: string): void {
    this.text += delta;
    if (!delta) return;
    const type = 'response.function_call_arguments.delta';
    this.#emit({ type, ...this.#ref, delta });
  }

  close(): void {
    const type = 'response.function_call_arguments.done';
    this.#emit({ type, ...this.#ref, name: this.#call.name, arguments: this.text });
    this.isOpen = false;
    const { item } = this;
    this.#emit({ type: 'response.output_item.done', output_index: this.#ref.output_index, item });
  }
}
