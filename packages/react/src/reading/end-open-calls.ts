import {
  interruptedText,
  isToolUIPart,
  type UIMessage,
  type UIMessagePart,
} from '@isoloop/core/stream';

/** Returns the messages with an answer that was stopped last, as the log has it. */
export function endOpenCalls(messages: readonly UIMessage[]): readonly UIMessage[] {
  const answer = messages.at(-1);
  if (answer?.role !== 'assistant') return messages;
  const parts = endedParts(answer.parts);
  return [...messages.slice(0, -1), ...(parts.length ? [{ ...answer, parts }] : [])];
}

/**
 * Returns the parts of an answer that was stopped. Texts no longer grow, and calls without a result
 * were interrupted. The log has no call whose input is incomplete, and no step without content.
 */
function endedParts(parts: readonly UIMessagePart[]): UIMessagePart[] {
  const keptParts = parts.filter((part) => !isIncomplete(part)).map(endedPart);
  return keptParts.filter(
    (part, index) => part.type !== 'step-start' || !isEmptyStep(keptParts, index),
  );
}

/** Returns whether a step has no content. */
function isEmptyStep(parts: readonly UIMessagePart[], index: number): boolean {
  const nextPart = parts[index + 1];
  return !nextPart || nextPart.type === 'step-start';
}

/** A call that ended while its input arrived keeps the text of the input. */
function isIncomplete(part: UIMessagePart): boolean {
  if (!isToolUIPart(part)) return false;
  const { state, rawInput } = part as { readonly state: string; readonly rawInput?: unknown };
  return (
    state === 'input-streaming' ||
    (state === 'output-error' && part.errorText === interruptedText && rawInput !== undefined)
  );
}

function endedPart(part: UIMessagePart): UIMessagePart {
  if ((part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming')
    return { ...part, state: 'done' };
  if (!isToolUIPart(part) || part.state !== 'input-available') return part;
  return { ...part, state: 'output-error', errorText: interruptedText };
}
