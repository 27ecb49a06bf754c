import { jsonForm } from '@isoloop/core/message';
import { isToolUIPart, type UIMessage, type UIMessagePart } from '@isoloop/core/stream';

/** Part of a tool call. */
export type CallPart = Extract<UIMessagePart, { toolCallId: string }>;

/** Returns a changed part, or `undefined` for another tool call. */
export type ChangeCall = (part: CallPart) => object | undefined;

/** Result of a tool call, or its error. */
export interface CallOutput {
  readonly toolCallId: string;
  readonly state?: 'output-available' | 'output-error';
  readonly output?: unknown;
  readonly errorText?: string;
}

/** Returns a message with a changed tool call. Returns the same message if it has no such call. */
export function withChangedCall(message: UIMessage, change: ChangeCall): UIMessage {
  const parts = message.parts.map((part) => {
    const changedPart = isToolUIPart(part) ? change(part) : undefined;
    return changedPart ? (changedPart as UIMessagePart) : part;
  });
  const isSame = parts.every((part, index) => part === message.parts[index]);
  return isSame ? message : { ...message, parts };
}

/**
 * Returns the tool call with its result. Throws `INVALID_INPUT` for a result without a JSON form.
 */
export function withOutput(
  part: CallPart,
  { toolCallId, state = 'output-available', output, errorText }: CallOutput,
): object | undefined {
  if (part.toolCallId !== toolCallId) return undefined;
  if (state === 'output-error') return { ...part, state, errorText };
  return { ...part, state, output: jsonForm(output, 'The output') ?? null };
}

/** Returns whether a call has no final result yet. */
export function isOpen({ state, ...part }: CallPart): boolean {
  return !state.startsWith('output-') || ('preliminary' in part && part.preliminary === true);
}
