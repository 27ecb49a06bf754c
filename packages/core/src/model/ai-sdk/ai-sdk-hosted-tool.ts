import type { LanguageModelV3StreamPart, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ContentBlock, Msg } from '../../message/msg.ts';
import { hasEnded, hostedToolOf, type HostedTool } from '../../message/provider-metadata.ts';
import { isObjectOrArray, parseJson, omitUndefined, type JsonValue } from '../../message/json.ts';

/** One part of the stream of a reply. No exported type may use it: the package may be missing. */
export type AiSdkPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart;

/** Parts of the given types. */
export type AiSdkPartOf<Type extends AiSdkPart['type']> = Extract<AiSdkPart, { type: Type }>;

type CallPart = AiSdkPartOf<'tool-call'>;
type ResultPart = AiSdkPartOf<'tool-result'>;
type Metadata = CallPart['providerMetadata'];

/** What the next request needs to send the parts of a hosted tool back. */
interface ReplayFields {
  /** Provider that ran the tool. No other provider understands the parts. */
  readonly provider: string;
  readonly call?: Metadata;
  readonly result?: Metadata;
  /** Whether the call is in an earlier reply, so that this block is only its result. */
  readonly isLate?: true;
}

/** Metadata of a block that represents a tool call which the provider ran itself. */
export interface HostedToolMetadata {
  readonly hostedTool: HostedTool;
  readonly aiSdkTool: ReplayFields;
}

type Parts = readonly Readonly<Record<string, unknown>>[];

/** Returns the metadata of a call without its result. */
export function metadataOfCall(part: CallPart, provider: string): HostedToolMetadata {
  const { toolCallId: id, toolName: name, input, providerMetadata: call } = part;
  return {
    hostedTool: { id, name, input: parseJson(input) ?? input },
    aiSdkTool: omitUndefined({ provider, call }),
  };
}

/** Adds the result to the metadata of its call. */
export function withResult(
  { hostedTool, aiSdkTool }: HostedToolMetadata,
  { result, isError, providerMetadata }: ResultPart,
): HostedToolMetadata {
  const output = ((result as unknown) ?? null) as JsonValue;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return {
    hostedTool: { ...hostedTool, output, ...(isError && { error: text }) },
    aiSdkTool: omitUndefined({ ...aiSdkTool, result: providerMetadata }),
  };
}

/** Returns the calls of a provider that have no result, by id. */
export function openHostedCalls(
  messages: readonly Msg[],
  provider: string,
): ReadonlyMap<string, HostedTool> {
  const calls = new Map<string, HostedTool>();
  for (const block of messages.flatMap(({ content }) => content)) {
    const hosted = hostedToolOf(block);
    if (hosted && !hasEnded(hosted) && replayFieldsOf(block)?.provider === provider)
      calls.set(hosted.id, hosted);
  }
  return calls;
}

/**
 * Returns a function that converts a block of a hosted tool to AI SDK's parts. It returns no parts
 * if the tool belongs to another provider, and for a result without its call. Providers refuse a
 * call without a result. It is sent only if a later reply has the result, or if the provider still
 * waits for results of our tools. The function returns `undefined` for any other block.
 */
export function hostedToolParts(
  messages: readonly Msg[],
  provider: string,
): (block: ContentBlock) => Parts | undefined {
  const calls = openHostedCalls(messages, provider);
  const lastReplyIndex = messages.findLastIndex(({ role }) => role !== 'tool');
  const reply =
    messages[lastReplyIndex]?.role === 'assistant' ? messages[lastReplyIndex].content : [];
  const isIncomplete = lastReplyIndex < messages.length - 1;
  const blocks = messages.flatMap(({ content }) => content);
  const lateResults = blocks.filter((block) => replayFieldsOf(block)?.isLate);
  const sentIds = new Set(
    [...lateResults, ...(isIncomplete ? reply : [])].map((block) => idOf(block)),
  );

  return (block) => {
    const hostedTool = hostedToolOf(block);
    if (!hostedTool) return undefined;
    const replayFields = replayFieldsOf(block);
    if (replayFields?.provider !== provider) return [];
    const { id: toolCallId, name: toolName, input, output = null, error } = hostedTool;
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input,
      providerExecuted: true,
      providerOptions: replayFields.call,
    };
    if (!hasEnded(hostedTool)) return sentIds.has(toolCallId) ? [call] : [];
    const result = {
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: error === undefined ? 'json' : 'error-json', value: output },
      providerOptions: replayFields.result,
    };
    if (!replayFields.isLate) return [call, result];
    return calls.has(toolCallId) ? [result] : [];
  };
}

function idOf(block: ContentBlock): string | undefined {
  return hostedToolOf(block)?.id;
}

function replayFieldsOf({ providerMetadata }: ContentBlock): ReplayFields | undefined {
  const replayFields = providerMetadata?.['aiSdkTool'];
  return isObjectOrArray(replayFields) ? (replayFields as unknown as ReplayFields) : undefined;
}
