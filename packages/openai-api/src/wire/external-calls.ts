import { argumentsIn } from '@isoloop/core/host';
import type { AgentResult, PendingCall } from '@isoloop/core';

/** Returns the tool calls that wait for a result of the client. */
export function externalCalls(result: AgentResult): readonly PendingCall[] {
  return callsOfAnswer(result).filter(({ kind }) => kind === 'external');
}

/** Returns the tool calls of this answer that wait. A rejection leaves earlier calls open. */
export function callsOfAnswer({ reason, pending }: AgentResult): readonly PendingCall[] {
  return reason === 'rejected' ? [] : pending;
}

/** Returns a tool call's arguments as JSON text. */
export function argumentsText({ input }: Pick<PendingCall, 'input'>): string {
  return JSON.stringify(input);
}

/**
 * Returns whether each tool call that the client already has is still pending, with the same
 * arguments. `sentArguments`: the arguments that the client has, as text, by the id of the tool
 * call.
 */
export function arePending(
  calls: readonly PendingCall[],
  sentArguments: ReadonlyMap<string, string>,
): boolean {
  return [...sentArguments].every(([id, text]) =>
    calls.some((call) => call.toolUseId === id && hasArguments(call, text)),
  );
}

/** Returns whether a text is the arguments of the call. Empty text counts as an empty object. */
function hasArguments(call: PendingCall, text: string): boolean {
  return JSON.stringify(argumentsIn(text).input) === argumentsText(call);
}

/** Error of a stream whose reader got a tool call that then became invalid. */
export const withdrawnCallError = {
  code: 'MODEL_BAD_RESPONSE',
  message: 'A tool call was withdrawn after it had been sent.',
} as const;
