import type { ResponseFunctionCall } from './response-object.ts';
import type { Emit, ItemPlace } from './text-item.ts';

/** A call of one of the client's tools that is being streamed. */
export class CallItem {
  /** Arguments that were sent so far, as JSON text. */
  text = '';
  isOpen = true;
  readonly #place: ItemPlace;
  readonly #emit: Emit;
  readonly #call: { readonly call_id: string; readonly name: string };

  constructor(callId: string, name: string, place: ItemPlace, emit: Emit) {
    this.#call = { call_id: callId, name };
    this.#place = place;
    this.#emit = emit;
    emit({ type: 'response.output_item.added', output_index: place.index, item: this.item });
  }

  get item(): ResponseFunctionCall {
    return {
      type: 'function_call',
      id: this.#place.id,
      status: this.isOpen ? 'in_progress' : 'completed',
      ...this.#call,
      arguments: this.text,
    };
  }

  add(delta: string): void {
    this.text += delta;
    if (!delta) return;
    const type = 'response.function_call_arguments.delta';
    this.#emit({ type, ...this.#at, delta });
  }

  close(): void {
    const type = 'response.function_call_arguments.done';
    this.#emit({ type, ...this.#at, name: this.#call.name, arguments: this.text });
    this.isOpen = false;
    const { item } = this;
    this.#emit({ type: 'response.output_item.done', output_index: this.#place.index, item });
  }

  get #at(): { readonly item_id: string; readonly output_index: number } {
    return { item_id: this.#place.id, output_index: this.#place.index };
  }
}
