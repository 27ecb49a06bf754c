import type { ContentBlock } from '../../message/content-block.ts';
import { hostedToolMetadata, hostedToolOf, type HostedTool } from '../../message/hosted-tool.ts';
import { isRecord } from '../../message/is-record.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import { parseJson } from '../../message/parse-json.ts';
import type { AiSdkPart } from './ai-sdk-contract.ts';

type CallPart = Extract<AiSdkPart, { readonly type: 'tool-call' }>;
type ResultPart = Extract<AiSdkPart, { readonly type: 'tool-result' }>;
type Metadata = AiSdkPart['providerMetadata'];

/** What the next request needs to send the parts of a hosted tool back. */
interface SentBack {
  /** Provider that ran the tool. No other provider understands the parts. */
  readonly provider: string;
  readonly call?: Metadata;
  readonly result?: Metadata;
}

/** Builds the metadata of a block that represents a tool call which the provider ran itself. */
export class AiSdkHostedTool {
  #tool: HostedTool;
  #sentBack: SentBack;

  constructor({ toolCallId, toolName, ...part }: CallPart | ResultPart, provider: string) {
    const input = 'input' in part ? (parseJson(part.input) ?? part.input) : {};
    this.#tool = { id: toolCallId, name: toolName, input };
    this.#sentBack = { provider, ...('input' in part && { call: part.providerMetadata }) };
  }

  settle({ result, isError, providerMetadata }: ResultPart): void {
    const error = isError
      ? { error: typeof result === 'string' ? result : JSON.stringify(result) }
      : {};
    this.#tool = { ...this.#tool, output: result, ...error };
    this.#sentBack = { ...this.#sentBack, result: providerMetadata };
  }

  get metadata(): JsonObject {
    const aiSdkTool = Object.fromEntries(
      Object.entries(this.#sentBack).filter(([, value]) => value !== undefined),
    ) as JsonObject;
    return { ...hostedToolMetadata(this.#tool), aiSdkTool };
  }
}

/**
 * Returns the call and the result of a hosted tool as AI SDK's parts. Returns no parts for a tool
 * of another provider, and for a call without a result. Returns `undefined` for any other block.
 */
export function hostedToolParts(
  block: ContentBlock,
  provider: string,
): readonly Readonly<Record<string, unknown>>[] | undefined {
  const hosted = hostedToolOf(block);
  if (!hosted) return undefined;
  const sentBack = block.providerMetadata?.['aiSdkTool'] as unknown as SentBack | undefined;
  const { id: toolCallId, name: toolName, input, output, error } = hosted;
  if (!isRecord(sentBack) || sentBack.provider !== provider || output === undefined) return [];
  const type = error === undefined ? 'json' : 'error-json';
  const value: JsonValue = output;
  return [
    {
      type: 'tool-call',
      toolCallId,
      toolName,
      input,
      providerExecuted: true,
      providerOptions: sentBack.call,
    },
    {
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type, value },
      providerOptions: sentBack.result,
    },
  ];
}
