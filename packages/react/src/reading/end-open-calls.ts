import {
  interruptedText,
  isToolUIPart,
  type UIMessage,
  type UIMessagePart,
} from '@isoloop/core/stream';

/**
 * Returns an answer that was stopped, as the log has it. Texts no longer grow, and calls without a
 * result were interrupted. The log has no call whose input is incomplete, and no step without
 * content. Returns `undefined` if nothing is left.
 */
export function endOpenCalls(message: UIMessage): UIMessage | undefined {
  const keptParts = message.parts.filter((part) => !isIncomplete(part)).map(endedPart);
  const parts = keptParts.filter(
    (part, index) => part.type !== 'step-start' || !isEmptyStep(keptParts, index),
  );
  return parts.length ? { ...message, parts } : undefined;
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
