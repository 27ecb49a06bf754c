import type { ModelDelta } from '../model/chat-model.ts';
import { parseJson } from '../message/parse-json.ts';
import type { WireToolCall } from './openai-wire.ts';

interface OpenCall {
  /** Ours: 0, 1, 2 in the order calls begin. */
  readonly index: number;
  /** The provider's, which may start at 1, be missing, or be the same for all. */
  readonly wireIndex: number | undefined;
  id: string | undefined;
  name: string | undefined;
  input: string;
}

type ToolInputDelta = Extract<ModelDelta, { readonly type: 'tool-input' }>;

/** Says which call a fragment of `tool_calls` belongs to. */
export class ToolCallIndex {
  readonly #calls: OpenCall[] = [];

  get size(): number {
    return this.#calls.length;
  }

  /** Nothing where the fragment says nothing new. */
  decode(fragment: WireToolCall): ToolInputDelta | undefined {
    // Qwen sends `id: ''` and GLM `name: ''` in later fragments.
    const id = fragment.id || undefined;
    const name = fragment.function?.name || undefined;
    const delta = toText(fragment.function?.arguments);
    const known = this.#find(fragment.index ?? undefined, id);
    const call = known && !beginsAnother(known, id, name) ? known : this.#open(fragment.index ?? undefined);
    const news = {
      ...(id && !call.id && { id }),
      ...(name && !call.name && { name }),
      ...(fragment.extra_content && { providerMetadata: { extra_content: fragment.extra_content } }),
    };
    call.id ??= id;
    call.name ??= name;
    call.input += delta;
    if (known === call && delta === '' && Object.keys(news).length === 0) return undefined;
    return { type: 'tool-input', index: call.index, ...news, delta };
  }

  #find(wireIndex: number | undefined, id: string | undefined): OpenCall | undefined {
    if (wireIndex !== undefined) return this.#calls.findLast((call) => call.wireIndex === wireIndex && (!id || !call.id || call.id === id));
    return (id && this.#calls.find((call) => call.id === id)) || this.#calls.at(-1);
  }

  #open(wireIndex: number | undefined): OpenCall {
    const call: OpenCall = { index: this.#calls.length, wireIndex, id: undefined, name: undefined, input: '' };
    this.#calls.push(call);
    return call;
  }
}

/** Cerebras gives two calls one index and tells them apart by id; others repeat id and name in every fragment of one call. */
function beginsAnother(call: OpenCall, id: string | undefined, name: string | undefined): boolean {
  if (id && call.id) return id !== call.id;
  return (
    name !== undefined &&
    call.name !== undefined &&
    (name !== call.name || (call.input.endsWith('}') && parseJson(call.input) !== undefined))
  );
}

/** Some local servers send arguments as an object. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : JSON.stringify(value);
}
