import { func } from '../../error/options/kinds.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { isObjectOrArray, parseJson, type JsonValue } from '../../message/json.ts';
import type { ToolProgress } from '../agent-tools.ts';

type Fields = Readonly<Record<string, unknown>>;

/** AI SDK's `ChatTransport`, without the types of its messages. */
interface Transport {
  /** Whether the tool parts have types. `followAgent()` reads it. */
  readonly typed?: boolean | undefined;
  readonly resumeStreamIsReplay?: boolean | undefined;
  readonly close?: (() => void) | undefined;
  sendMessages(...args: never[]): Promise<ReadableStream<unknown>>;
  reconnectToStream(...args: never[]): Promise<ReadableStream<unknown> | null>;
}

/**
 * Returns a transport whose tool parts have the types of `AgentTools`. A part has the type
 * `tool-<name>` instead of `dynamic-tool`. Its output is the value that the tool returned, instead
 * of the JSON text. Progress that a tool emits becomes a `data-tool-progress` part. Tools that the
 * provider ran stay dynamic.
 *
 * @example
 * const transport = typedTransport(new DefaultChatTransport({ api: '/api/chat' }));
 * useChat<AgentUIMessage<typeof assistant>>({ transport });
 */
export function typedTransport<T extends Transport>(
  transport: T,
): Pick<T, keyof T & keyof Transport> {
  checkFields('typedTransport(): the transport', transport, {
    sendMessages: func,
    reconnectToStream: func,
  });
  const { resumeStreamIsReplay, close }: Transport = transport;
  const typedCopy: Transport = {
    typed: true,
    ...(resumeStreamIsReplay !== undefined && { resumeStreamIsReplay }),
    ...(close && { close: () => close.call(transport) }),
    async sendMessages(...args) {
      return typedChunks(await transport.sendMessages(...args));
    },
    async reconnectToStream(...args) {
      const stream = await transport.reconnectToStream(...args);
      return stream && typedChunks(stream);
    },
  };
  return typedCopy as T;
}

/** Returns messages of `toUiMessages` with the tool parts of `typedTransport`. */
export function typedMessages<M extends { readonly parts: readonly object[] }>(
  messages: readonly M[],
): M[] {
  return messages.map((message) => ({ ...message, parts: message.parts.map(toTypedPart) }));
}

function toTypedPart(part: object): object {
  const { type, toolName, ...call } = part as Fields;
  if (type !== 'dynamic-tool' || call['providerExecuted']) return part;
  return { ...withValue(call), type: `tool-${String(toolName)}` };
}

function typedChunks(stream: ReadableStream<unknown>): ReadableStream<object> {
  return stream.pipeThrough(
    new TransformStream<unknown, object>({
      transform: (chunk, controller) => controller.enqueue(toTypedChunk(chunk as Fields)),
    }),
  );
}

function toTypedChunk(chunk: Fields): object {
  if (!chunk['dynamic'] || chunk['providerExecuted']) return chunk;
  const { dynamic: _dynamic, ...fields } = chunk;
  const { toolCallId, output, preliminary } = fields;
  if (!preliminary) return withValue(fields);
  const data = { toolCallId, progress: output } as ToolProgress;
  return { type: 'data-tool-progress', id: toolCallId, data };
}

/** Replaces an output that is a value as JSON text by the value. */
export function withValue<T extends object>(fields: T): T {
  const { output, toolMetadata } = fields as Fields;
  const isJson = isObjectOrArray(toolMetadata) && 'json' in toolMetadata;
  return isJson && typeof output === 'string' ? { ...fields, output: parseOrKeep(output) } : fields;
}

/** Returns the text itself if a hook has replaced the JSON by another text. */
function parseOrKeep(text: string): JsonValue {
  const value = parseJson(text);
  return value === undefined ? text : value;
}
