import { fieldsOf, misconfigured } from '../../error/agent-error.ts';
import { messageFitter, toAiSdkCall, type AiSdkTarget } from './ai-sdk-call.ts';
import type { AiSdkLanguageModel } from './ai-sdk-contract.ts';
import { AiSdkDecoder } from './ai-sdk-decoder.ts';
import { badReply, toAgentError } from './ai-sdk-error.ts';
import { openHostedCalls, type AiSdkPart } from './ai-sdk-hosted-tool.ts';
import {
  defaultFeatures,
  type ChatModel,
  type ModelContext,
  type ModelDelta,
  type ModelFeatures,
  type ModelRequest,
  type ReplyStream,
} from '../chat-model.ts';
import { Deadline } from '../../wait/deadline.ts';
import { hasContent } from '../reply/deltas.ts';
import { ReplyLength } from '../reply/reply-length.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { nonNegative, object, optional } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';

/** What `fromAiSdk()` cannot learn from the model itself. */
export interface FromAiSdkOptions {
  /**
   * Features of the model. Default: supports tools, images and files, and has an unknown context
   * window.
   */
  readonly features?: Partial<ModelFeatures>;
  /**
   * Maximum time without content from the model, in milliseconds. Default: 5 minutes. `Infinity`
   * means no limit.
   */
  readonly timeoutMs?: number;
}

/**
 * Adapts a model of any AI SDK provider (`LanguageModelV4` or `V3`). The package `ai` is not
 * needed. `providerOptions` of a request contain an object for each provider, as in AI SDK: `{
 * openai: { … } }`. A setting that the model does not have, such as `seed`, is ignored, as in AI
 * SDK. The `providerMetadata` of a reply is sent back with that reply.
 */
export function fromAiSdk(model: AiSdkLanguageModel, options: FromAiSdkOptions = {}): ChatModel {
  const { specificationVersion: version }: Partial<AiSdkLanguageModel> = fieldsOf(model);
  if (version !== 'v3' && version !== 'v4') {
    throw misconfigured(
      `fromAiSdk() takes a LanguageModelV3 or V4, not '${String(version ?? model)}'`,
    );
  }
  checkOptions('fromAiSdk()', options, fromAiSdkOptions);
  const features: ModelFeatures = { ...defaultFeatures, ...options.features };
  const { provider, modelId } = model;
  const { media } = features;
  const fitMessage = messageFitter(provider, modelId);
  const target = { version, provider, modelId, media, fitMessage };
  return {
    provider,
    modelId,
    features,
    stream: (request, context) => stream(model, request, target, { ...options, ...context }),
  };
}

const fromAiSdkOptions: OptionTable<FromAiSdkOptions> = {
  features: optional(object),
  timeoutMs: optional(nonNegative),
};

type Read = ReadableStreamReadResult<{ readonly type: string }>;
type Reader = ReadableStreamDefaultReader<{ readonly type: string }>;

async function* stream(
  model: AiSdkLanguageModel,
  request: ModelRequest,
  target: Omit<AiSdkTarget, 'supportedUrls'>,
  { signal, timeoutMs, replyLength }: FromAiSdkOptions & ModelContext,
): ReplyStream {
  const deadline = new Deadline(signal, timeoutMs);
  let reader: Reader | undefined;
  try {
    const { provider } = target;
    const supportedUrls = await deadline.wait(async () => model.supportedUrls);
    const call = {
      ...toAiSdkCall(request, { ...target, supportedUrls }),
      abortSignal: deadline.signal,
    };
    const started = await deadline.wait(async () => model.doStream(call as never));
    reader = started.stream.getReader();
    const decoder = new AiSdkDecoder(provider, openHostedCalls(request.messages, provider));
    yield* decodeAll(reader, decoder, deadline, new ReplyLength(replyLength));
  } catch (error) {
    throw deadline.signal.reason ?? toAgentError(error);
  } finally {
    deadline.end();
    reader?.cancel().catch(() => {});
  }
}

async function* decodeAll(
  reader: Reader,
  decoder: AiSdkDecoder,
  deadline: Deadline,
  length: ReplyLength,
): ReplyStream {
  let receivedCount = 0;
  let pending = reader.read();
  let result: Read = await deadline.listen(() => pending);
  while (!result.done) {
    const deltas: ModelDelta[] = [];
    let failure: unknown;
    let next: Read | undefined = result;
    for (let index = 0; next && !next.done && !failure && index < maxPartsAtOnce; index += 1) {
      receivedCount += 1;
      failure = decodePart(decoder, next.value as AiSdkPart, deltas);
      pending = reader.read();
      next = await valueSoon(pending);
    }
    // Endless parts without content reach the limit, too.
    length.checkBuffered(receivedCount);
    if (hasContent(deltas)) deadline.reset();
    yield deltas;
    if (failure) throw failure;
    next ??= await deadline.listen(() => pending);
    result = next;
  }
  if (!decoder.hasFinishPart) throw badReply('The reply ended without a finish part');
}

/** Maximum number of parts in one array of deltas: a stream may never wait. */
const maxPartsAtOnce = 256;

/**
 * Decodes a part. Returns an error instead of throwing it, because the caller must yield the deltas
 * before the error first.
 */
function decodePart(decoder: AiSdkDecoder, part: AiSdkPart, deltas: ModelDelta[]): unknown {
  try {
    decoder.decode(part, deltas);
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * Number of microtasks to wait for the next part. Parts of one network read arrive within a few
 * microtasks, through the provider's chain of streams.
 */
const microtasksBetweenParts = 32;

async function valueSoon<T>(work: Promise<T>): Promise<T | undefined> {
  let value: T | undefined;
  work.then(
    (settled) => (value = settled),
    () => undefined,
  );
  for (let tick = 0; tick < microtasksBetweenParts && value === undefined; tick++) await undefined;
  return value;
}
