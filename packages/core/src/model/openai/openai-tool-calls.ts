import { isWholeObject, type JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { Loose } from '../formatter.ts';
import { keepFields, keptMetadata, type KeptFields } from './kept-fields.ts';

/** Part of a tool call in a chunk. Any field may be missing or null. */
export type WireToolCall = Loose<{
  index: number;
  id: string;
  function: Loose<{ name: string; arguments: unknown }>;
  /** Contains thought signatures of Gemini, which must be sent back. */
  extra_content: JsonObject;
  /** Sent by LiteLLM. */
  provider_specific_fields: JsonObject;
}>;

export interface DecodedCall {
  /**
   * Index from the provider. It may start at 1, be missing, or be the same for all tool calls.
   * Deltas use the position in the list of tool calls instead.
   */
  readonly wireIndex: number | null | undefined;
  id?: string;
  name?: string;
  input: string;
  /** Length of the input when it was found to be complete. */
  completeAt?: number;
  /** Fields that only the host `origin` gets back. */
  readonly extras: KeptFields;
}

/** Number of the newest tool calls that a fragment may continue, so that many take linear time. */
const maxSearchedCalls = 256;

/**
 * Adds a fragment of `tool_calls` to its tool call, or starts a new tool call. `origin`: host that
 * gets the fragment's extra fields back. Without it, they are dropped.
 */
export function decodeToolCall(
  fragment: WireToolCall,
  calls: DecodedCall[],
  deltas: ModelDelta[],
  origin?: string,
): void {
  const delta = argumentText(fragment.function?.arguments);
  if (!delta && isEmpty(fragment)) return;
  const newest = calls.slice(-maxSearchedCalls);
  const callIndex = newest.findLastIndex((openCall) => continues(openCall, fragment));
  let index = callIndex + calls.length - newest.length;
  if (callIndex < 0) index = calls.push(newCall(fragment)) - 1;
  const call = calls[index]!;
  const missing = missingFields(call, fragment);
  // Some servers repeat the id and the name while they wait.
  const hasExtras = keepFields(call.extras, fragment);
  const providerMetadata = hasExtras && keptMetadata(origin, call.extras);
  if (!delta && !providerMetadata && !Object.keys(missing).length) return;
  Object.assign(call, missing);
  call.input += delta;
  deltas.push({
    type: 'tool-input',
    index,
    ...missing,
    ...(providerMetadata && { providerMetadata }),
    delta,
  });
}

function isEmpty({
  id,
  function: called,
  extra_content: content,
  provider_specific_fields: fields,
}: WireToolCall): boolean {
  return !id && !called?.name && !content && !fields;
}

function newCall({ index }: WireToolCall): DecodedCall {
  return { wireIndex: index, input: '', extras: {} };
}

/** Returns the id and the name in a fragment, if its tool call does not have them yet. */
function missingFields(
  call: DecodedCall,
  { id, function: wireFunction }: WireToolCall,
): Pick<DecodedCall, 'id' | 'name'> {
  // `trim` throws if the value is not a string. A session log would reject such a value.
  return {
    ...(!call.id && id && { id: id.trim() }),
    ...(!call.name && wireFunction?.name && { name: wireFunction.name.trim() }),
  };
}

/**
 * Returns whether a fragment continues a tool call. Cerebras sends two tool calls with the same
 * index and different ids. Some servers repeat the id and the name in every fragment of a tool
 * call. In later fragments, Qwen sends `id: ''` and GLM sends `name: ''`.
 */
function continues(
  call: DecodedCall,
  { id, index, function: wireFunction }: WireToolCall,
): boolean {
  if (index != null && index !== call.wireIndex) return false;
  if (id && call.id) return id === call.id;
  if (!wireFunction?.name || !call.name) return true;
  return wireFunction.name === call.name && !isComplete(call);
}

/** Returns whether the arguments of a tool call are a whole JSON object. */
export function isComplete(call: DecodedCall): boolean {
  const { input } = call;
  if (call.completeAt === input.length) return true;
  const isWhole = isWholeObject(input);
  if (isWhole) call.completeAt = input.length;
  return isWhole;
}

/** Returns arguments as text, because some local servers send an object. */
export function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : JSON.stringify(value);
}
