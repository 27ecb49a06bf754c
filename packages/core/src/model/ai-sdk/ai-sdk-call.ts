import { fieldOf } from '../../error/agent-error.ts';
import {
  outputText,
  textOf,
  toolResultsOf,
  type ContentBlock,
  type MediaBlock,
  type MediaSource,
  type ToolResult,
  type Msg,
} from '../../message/msg.ts';
import { isEdited, isNewestReplyEdited } from '../../message/metadata.ts';
import { isRecord, jsonCopy, pickFields, wellFormed, type JsonObject } from '../../message/json.ts';
import { hostedToolOf, keptKey } from '../../message/provider-metadata.ts';
import { inlineSource, mediaPlaceholder, mediaTypeOf } from '../../message/media/media.ts';
import { callIdFitter } from '../formatter/call-ids.ts';
import { fitMessage } from '../formatter/fit-message.ts';
import { memoize } from '../formatter/formatter.ts';
import { groupMessages } from '../../message/conversation/tool-pairs.ts';
import { joinSystem } from '../formatter/join-turns.ts';
import { acceptedSampling } from '../formatter/refused-settings.ts';
import { serverRulesOf } from '../formatter/server-rules.ts';
import { describedTool, isStrict, wireParameters } from '../formatter/strict-schema.ts';
import { replySchema } from '../formatter/wire-schema.ts';
import { hostedToolParts } from './ai-sdk-hosted-tool.ts';
import type { AiSdkLanguageModel, SupportedUrls } from './ai-sdk-contract.ts';
import type { ModelFeatures, ModelRequest, ToolChoice, ToolSchema } from '../chat-model.ts';

/** Facts about the AI SDK model that decide how content blocks are converted. */
export interface AiSdkTarget {
  /** Fits a message to the provider. Made by `messageFitter()`. */
  readonly fitMessage: (message: Msg) => Msg;
  readonly version: AiSdkLanguageModel['specificationVersion'];
  readonly provider: string;
  readonly modelId: string;
  readonly media: ModelFeatures['media'];
  readonly supportedUrls: SupportedUrls;
}

interface Shape extends AiSdkTarget {
  readonly hostedParts: ReturnType<typeof hostedToolParts>;
}

type Part = Readonly<Record<string, unknown>>;
type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly Part[] };

/** Returns a function that fits messages to a provider, once for each message. */
export function messageFitter(provider: string, modelId: string): AiSdkTarget['fitMessage'] {
  const fitCallId = callIdFitter(serverRulesOf(provider, modelId).callIds);
  return memoize((message: Msg) => wellFormed(fitMessage(withoutStored(message), fitCallId)));
}

/**
 * Converts a request to `LanguageModelV4CallOptions` or the V3 type, without the signal. A field
 * that is `undefined` counts as absent.
 */
export function toAiSdkCall(request: ModelRequest, target: AiSdkTarget): Part {
  const { messages, tools, toolChoice, responseSchema, providerOptions } = request;
  const { maxTokens, seed } = request;
  const effort = fieldOf(providerOptions?.['openai'], 'reasoningEffort');
  const { temperature, topP, stop } = acceptedSampling(target.modelId, request, effort);
  const { provider } = target;
  // https://github.com/midday-ai/ai-sdk-tools/issues/121, https://github.com/vercel/ai/issues/2384
  // https://github.com/langchain-ai/langchain/issues/38651
  const hasOneSystem =
    /google|vertex|bedrock|anthropic/.test(provider) ||
    serverRulesOf(provider, target.modelId).leadingSystem;
  const ordered = hasOneSystem ? joinSystem(messages) : messages;
  const fittedMessages = ordered.map(target.fitMessage);
  const schema = responseSchema && replySchema(responseSchema);
  const shape = { ...target, hostedParts: hostedToolParts(fittedMessages, provider) };
  return {
    prompt: joinToolMessages(fittedMessages.flatMap((message) => toModelMessages(message, shape))),
    maxOutputTokens: maxTokens,
    temperature,
    topP,
    seed,
    stopSequences: stop && wellFormed(stop),
    responseFormat: schema && { type: 'json', schema: wellFormed(schema), name: 'response' },
    tools: tools.length > 0 ? tools.map(toTool) : undefined,
    toolChoice: tools.length > 0 ? toToolChoice(toolChoice) : undefined,
    providerOptions: toCallOptions(request, schema, provider),
  };
}

function toModelMessages(message: Msg, shape: Shape): readonly Message[] {
  const { role, content } = message;
  if (role === 'system') return content.length ? [{ role, content: textOf(content) }] : [];
  if (role === 'assistant') return fromReply(message, shape);
  const parts = content.flatMap((block) => toParts(block, shape));
  const results = toolResultsOf(message).map(toResult);
  const messages: readonly Message[] = [
    { role: 'tool', content: results },
    { role: 'user', content: parts },
  ];
  return messages.filter((sent) => sent.content.length > 0);
}

/**
 * Returns the message of a reply, or none if it has nothing but reasoning. Removes reasoning at the
 * end if the call that followed it is left out, because OpenAI refuses such reasoning.
 */
function fromReply(message: Msg, shape: Shape): readonly Message[] {
  const { content } = message;
  const parts = content.map((block) => toParts(block, shape));
  const isCallLeftOut = content.some(
    (block, index) => hostedToolOf(block) && !parts[index]!.length,
  );
  const sentParts = parts.flat();
  while (isCallLeftOut && sentParts.at(-1)?.['type'] === 'reasoning') sentParts.pop();
  const isThoughtAlone = sentParts.every((part) => part['type'] === 'reasoning');
  return isThoughtAlone ? [] : [{ role: 'assistant', content: sentParts }];
}

/** Removes the ids under which OpenAI stores tool calls that a person has edited since. */
function withoutStored(message: Msg): Msg {
  const content = message.content.map((block) => {
    const { type, providerMetadata } = block;
    if (type !== 'tool_use' || !providerMetadata || !isEdited(message, block.id)) return block;
    return { ...block, providerMetadata: withoutKey(providerMetadata, 'itemId') };
  });
  return { ...message, content };
}

/** Removes a key from the options or the metadata of each provider. */
function withoutKey<T extends JsonObject | undefined>(values: T, key: string): T {
  return values && (jsonCopy(values, (name) => name === key) as T);
}

/**
 * Joins consecutive tool messages, because some providers require the results of all tool calls of
 * a reply in one message.
 */
function joinToolMessages(messages: readonly Message[]): readonly Message[] {
  const groups = groupMessages(messages, ({ role }) => role === 'tool');
  return groups.map((group) => {
    if (group.length === 1) return group[0]!;
    return { role: 'tool', content: group.flatMap(({ content }) => content as readonly Part[]) };
  });
}

/**
 * Returns the parts of a block. A tool result has no parts here, because it becomes a separate
 * message.
 */
function toParts(block: ContentBlock, shape: Shape): readonly Part[] {
  const providerOptions = toProviderOptions(block.providerMetadata);
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text, providerOptions }];
    case 'thinking': {
      const hosted = shape.hostedParts(block);
      if (hosted) return hosted;
      if (!block.thinking && !providerOptions) return [];
      return [{ type: 'reasoning', text: block.thinking, providerOptions }];
    }
    case 'tool_use':
      return [
        {
          type: 'tool-call',
          toolCallId: block.id,
          toolName: block.name,
          input: block.input,
          providerOptions,
        },
      ];
    case 'tool_result':
      return [];
    default:
      return [
        toFile(block, shape) ?? { type: 'text', text: mediaPlaceholder(block), providerOptions },
      ];
  }
}

/**
 * Converts a medium to a file part. Returns `undefined` if the model does not accept the medium, or
 * if the provider cannot fetch its URL.
 */
function toFile(
  block: MediaBlock,
  { media, version, supportedUrls }: AiSdkTarget,
): Part | undefined {
  const source = inlineSource(block.source);
  const mediaType = mediaTypeOf({ ...block, source });
  const data = toFileData(source, version);
  if (!media.includes(block.type) || data === undefined) return undefined;
  if (source.type === 'url' && !isFetched(source.url, mediaType, supportedUrls)) return undefined;
  return {
    type: 'file',
    mediaType,
    data,
    filename: block.name,
    providerOptions: toProviderOptions(block.providerMetadata),
  };
}

function toFileData(source: MediaSource, version: AiSdkTarget['version']): unknown {
  if (source.type === 'base64')
    return version === 'v3' ? source.data : { type: 'data', data: source.data };
  if (!URL.canParse(source.url)) return undefined;
  const url = new URL(source.url);
  return version === 'v3' ? url : { type: 'url', url };
}

function isFetched(url: string, mediaType: string, supported: SupportedUrls): boolean {
  const kind = mediaType.split('/')[0];
  const isFor = (pattern: string): boolean =>
    pattern === mediaType || pattern.startsWith('*') || pattern === `${kind}/*`;
  return Object.entries(supported).some(
    ([pattern, addresses]) => isFor(pattern) && addresses.some((address) => address.test(url)),
  );
}

/**
 * Converts a tool result to text only, because several providers write media in a result as base64
 * text.
 */
function toResult({ toolUseId, name, output, state, providerMetadata }: ToolResult): Part {
  const value = outputText(output);
  return {
    type: 'tool-result',
    toolCallId: toolUseId,
    toolName: name,
    output:
      state === 'denied'
        ? { type: 'execution-denied', reason: value }
        : { type: state === 'success' ? 'text' : 'error-text', value },
    providerOptions: toProviderOptions(providerMetadata),
  };
}

/**
 * Returns the fields whose value is an object: AI SDK stores the fields of a provider in an object
 * under the provider's name. Other fields are not for AI SDK, such as the sources of a text and the
 * fields that belong to one server.
 */
function toProviderOptions(metadata: JsonObject | undefined): Part | undefined {
  const isOption = (key: string, value: unknown): boolean => isRecord(value) && key !== keptKey;
  const fields = pickFields(metadata ?? {}, isOption) as Part;
  return Object.keys(fields).length ? fields : undefined;
}

const toTool = /* @__PURE__ */ memoize((tool: ToolSchema): Part => {
  const fittedTool = wellFormed(describedTool(tool));
  const { name, description } = fittedTool;
  const { parameters: inputSchema, strict } = wireParameters(fittedTool);
  return { type: 'function', name, description, inputSchema, strict };
});

/**
 * Returns the options of the providers. Packages for OpenAI's protocol make each reply schema
 * strict unless the option `strictJsonSchema` says otherwise.
 */
function toCallOptions(request: ModelRequest, schema: JsonObject | undefined, provider: string) {
  const { messages } = request;
  const providerOptions = request.providerOptions && wellFormed(request.providerOptions);
  const options = isNewestReplyEdited(messages)
    ? withoutKey(providerOptions, 'previousResponseId')
    : providerOptions;
  if (!schema || isStrict(schema)) return options;
  const name = provider.split('.')[0]!;
  const ownOptions = { strictJsonSchema: false, ...(options?.[name] as JsonObject | undefined) };
  return { ...options, [name]: ownOptions };
}

function toToolChoice(choice: ToolChoice | undefined): Part | undefined {
  if (typeof choice === 'object') return { type: 'tool', toolName: choice.name };
  return choice && { type: choice };
}
