import { parseJson } from '../../message/parse-json.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import type { WireToolCall } from './openai-wire.ts';

export interface OpenCall {
  /**
   * Index from the provider, which may start at 1, be missing, or be the same for all calls. Our
   * own index is the call's position in starting order.
   */
  readonly wireIndex: number | null | undefined;
  id?: string;
  name?: string;
  input: string;
}

/** Adds a fragment of `tool_calls` to the call it belongs to, or to a new one. */
export function decodeToolCall(
  fragment: WireToolCall,
  calls: OpenCall[],
  deltas: ModelDelta[],
): void {
  const { id, function: called, extra_content } = fragment;
  const delta = toText(called?.arguments);
  if (!id && !called?.name && !delta && !extra_content) return;
  let index = calls.findLastIndex((open) => goesOn(open, fragment));
  if (index < 0) index = calls.push({ wireIndex: fragment.index, input: '' }) - 1;
  const call = calls[index]!;
  // `trim` throws if the value is not a string, which no log would accept.
  const news = {
    ...(!call.id && id && { id: id.trim() }),
    ...(!call.name && called?.name && { name: called.name.trim() }),
  };
  Object.assign(call, news);
  call.input += delta;
  deltas.push({
    type: 'tool-input',
    index,
    ...news,
    ...(extra_content && { providerMetadata: { extra_content } }),
    delta,
  });
}

/**
 * Returns whether a fragment continues a call. Cerebras gives two calls the same index but
 * different ids. Other servers repeat id and name in every fragment of one call. Qwen sends
 * `id: ''` and GLM `name: ''` in later fragments.
 */
function goesOn(call: OpenCall, { id, index, function: called }: WireToolCall): boolean {
  if (index != null && index !== call.wireIndex) return false;
  if (id && call.id) return id === call.id;
  if (!called?.name || !call.name) return true;
  return (
    called.name === call.name && !(call.input.endsWith('}') && parseJson(call.input) !== undefined)
  );
}

/** Returns arguments as text; some local servers send them as an object. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : JSON.stringify(value);
}
