import { waitsForApproval, type PendingCall } from '../../event/pending-call.ts';
import {
  blocksOf,
  outputText,
  type MediaBlock,
  type MessageContent,
  type Msg,
  type ToolResult,
} from '../../message/msg.ts';
import { hasEnded, sourcesOf, type HostedTool } from '../../message/provider-metadata.ts';
import type { JsonValue } from '../../message/json.ts';
import { isMedia, mediaTypeOf, toUrl } from '../../message/media/media.ts';
import type { UiChunk, UiSource } from './ui-chunk.ts';
import { withValue } from './ui-typed-parts.ts';

/** AI SDK's part for a file. A chunk of the same shape adds it to a message. */
export type UiFile = {
  readonly type: 'file';
  readonly mediaType: string;
  readonly url: string;
  readonly filename?: string;
};

export function toFilePart(block: MediaBlock): UiFile {
  const { source, name } = block;
  const nameField = name !== undefined && { filename: name };
  return { type: 'file', mediaType: mediaTypeOf(block), url: toUrl(source), ...nameField };
}

/** Returns a file for each medium in a reply or in the output of a tool. */
export function filesIn(content: MessageContent): readonly UiFile[] {
  return blocksOf(content).filter(isMedia).map(toFilePart);
}

/** How a tool call ended, as AI SDK's parts and chunks say it. */
type UiOutcome =
  | ({ readonly state: 'output-available' } & ShownOutput)
  | { readonly state: 'output-error'; readonly errorText: string };

/** Text of the error of a call whose reply is incomplete. */
export const interruptedText = 'The call was interrupted.';

/** Returns how a tool of the provider ended, or `undefined` if it is running. */
export function hostedOutcome(hostedTool: HostedTool): UiOutcome | undefined {
  const { output = null, error } = hostedTool;
  if (!hasEnded(hostedTool)) return undefined;
  if (error !== undefined) return { state: 'output-error', errorText: error };
  return { state: 'output-available', output };
}

/** Returns how a tool call ended that nobody denied. */
export function resultOutcome({ state, output, providerMetadata }: ToolResult): UiOutcome {
  if (state !== 'success') return { state: 'output-error', errorText: outputText(output) };
  const outputPart = { state: 'output-available', output: output as JsonValue } as const;
  return providerMetadata?.['json'] ? { ...outputPart, toolMetadata: { json: true } } : outputPart;
}

/** Fields that a chunk about a tool call has because of its tool. */
export interface ToolFields {
  /** Whether the types of the tool are unknown. The part is then a `dynamic-tool`. */
  readonly dynamic?: true;
  readonly providerExecuted?: true;
}

/** For a client that does not know the types of the tools. */
export const dynamicTool: ToolFields = { dynamic: true };

/** For a tool of the provider, whose types nobody knows. */
export const hostedTool: ToolFields = { dynamic: true, providerExecuted: true };

/** Returns the chunk for the end of a tool call. */
export function outcomeChunk(
  toolCallId: string,
  { state, ...fields }: UiOutcome,
  toolFields: ToolFields,
): UiChunk {
  return { type: `tool-${state}`, toolCallId, ...fields, ...toolFields } as UiChunk;
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
export function resultChunks(result: ToolResult, toolFields: ToolFields): readonly UiChunk[] {
  const { toolUseId, output, state } = result;
  if (state === 'denied') return deniedChunks(toolUseId, deniedReason(result));
  const outcome = resultOutcome(result);
  const shownOutcome = toolFields.dynamic ? outcome : withValue(outcome);
  return [outcomeChunk(toolUseId, shownOutcome, toolFields), ...filesIn(output)];
}

/** Returns whether AI SDK's messages show the tool call as an approval request. */
export function asksUser(call: PendingCall): boolean {
  return call.kind === 'replay' || waitsForApproval(call);
}

/** Output of a tool in AI SDK's messages. */
export type ShownOutput = {
  readonly output: JsonValue;
  /** `json`: whether the output is a value as JSON text, and not a text of the tool. */
  readonly toolMetadata?: { readonly json: true };
};

/**
 * Returns the chunks for a denied tool call. In AI SDK's messages a denied call has a negative
 * approval, so a call that nobody was asked about gets one too.
 */
function deniedChunks(toolCallId: string, reason: string): readonly UiChunk[] {
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
