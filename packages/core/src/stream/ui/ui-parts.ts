import { waitsForApproval, type PendingCall } from '../../event/pending-call.ts';
import { outputText } from '../../message/msg.ts';
import type { MediaBlock, ToolResult, Msg, MessageContent } from '../../message/msg.ts';
import { hasEnded, sourcesOf, type HostedTool } from '../../message/provider-metadata.ts';
import type { JsonValue } from '../../message/json.ts';
import { isMedia, toUrl } from '../../message/media.ts';
import type { UiChunk, UiSource } from './ui-chunk.ts';

/** AI SDK's part for a file. A chunk of the same shape adds it to a message. */
export type UiFile = {
  readonly type: 'file';
  readonly mediaType: string;
  readonly url: string;
  readonly filename?: string;
};

export function toFilePart({ type, source, name }: MediaBlock): UiFile {
  const mediaType =
    source.mediaType ?? (type === 'file' ? 'application/octet-stream' : `${type}/*`);
  return {
    type: 'file',
    mediaType,
    url: toUrl(source),
    ...(name !== undefined && { filename: name }),
  };
}

/** Returns a file for each medium in a reply or in the output of a tool. */
export function filesIn(content: MessageContent): readonly UiFile[] {
  return typeof content === 'string' ? [] : content.filter(isMedia).map(toFilePart);
}

/** Text of the error of a call whose reply is incomplete. */
export const interruptedText = 'The call was interrupted.';

/** Returns the chunks for a tool that the provider runs itself. */
export function hostedToolChunks(hostedTool: HostedTool): readonly UiChunk[] {
  const { id: toolCallId, name: toolName, input, output = null, error } = hostedTool;
  const common = { toolCallId, dynamic: true, providerExecuted: true } as const;
  const call = { type: 'tool-input-available', ...common, toolName, input } as const;
  if (!hasEnded(hostedTool)) return [call];
  if (error !== undefined)
    return [call, { type: 'tool-output-error', ...common, errorText: error }];
  return [call, { type: 'tool-output-available', ...common, output }];
}

/** Returns a chunk for each source that a reply cites; a source that it cites twice has one. */
export function sourceChunks({ id, content }: Msg): readonly UiSource[] {
  const chunks = new Map<string, UiSource>();
  for (const source of content.flatMap(sourcesOf)) {
    const sourceId = `${id}:source-${chunks.size}`;
    if (source.type === 'url') {
      const { url, title } = source;
      const chunk = { type: 'source-url', sourceId, url, ...(title && { title }) } as const;
      if (!chunks.has(url)) chunks.set(url, chunk);
    } else if (!chunks.has(source.title))
      chunks.set(source.title, { ...source, type: 'source-document', sourceId });
  }
  return [...chunks.values()];
}

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
export interface ShownOutput {
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
