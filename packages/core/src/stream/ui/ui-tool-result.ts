import { waitsForApproval, type PendingCall } from '../../event/pending-call.ts';
import type { ToolResult } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { outputText } from '../../message/message-text.ts';
import type { UiChunk } from './ui-chunk.ts';
import { filesIn } from './ui-media.ts';

/** Returns the chunks for a tool result: its output, and a file for each medium in the output. */
export function resultChunks(result: ToolResult): readonly UiChunk[] {
  const { toolUseId: toolCallId, output, state } = result;
  if (state === 'denied') return deniedChunks(toolCallId, deniedReason(result));
  const shown: UiChunk =
    state === 'success'
      ? { type: 'tool-output-available', toolCallId, ...shownOutput(result), dynamic: true }
      : { type: 'tool-output-error', toolCallId, errorText: outputText(output), dynamic: true };
  return [shown, ...filesIn(output)];
}

/** Returns whether AI SDK's messages show the tool call as an approval request. */
export function asksUser(call: PendingCall): boolean {
  return call.kind === 'replay' || waitsForApproval(call);
}

/** Output of a tool in AI SDK's messages. */
interface ShownOutput {
  output: JsonValue;
  /** `json`: whether the output is a value as JSON text, and not a text of the tool. */
  toolMetadata?: { json: true };
}

/** Returns the output of a successful tool call. */
export function shownOutput({ output, providerMetadata }: ToolResult): ShownOutput {
  const shown = output as JsonValue;
  return providerMetadata?.['json']
    ? { output: shown, toolMetadata: { json: true } }
    : { output: shown };
}

/**
 * Returns the chunks for a denied tool call. In AI SDK's messages a denied call has a negative
 * approval, so a call that nobody was asked about gets one too.
 */
export function deniedChunks(toolCallId: string, reason: string): readonly UiChunk[] {
  return [
    { type: 'tool-approval-request', approvalId: toolCallId, toolCallId },
    { type: 'tool-approval-response', approvalId: toolCallId, approved: false, reason },
    { type: 'tool-output-denied', toolCallId },
  ];
}

/** Returns why a tool call was denied, without the words that only the model needs. */
export function deniedReason({ output }: ToolResult): string {
  return outputText(output).replace(/^Tool call rejected: /, '');
}
