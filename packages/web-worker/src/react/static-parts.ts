import type { UIMessage, UIMessageChunk } from 'ai';

type Part = UIMessage['parts'][number];

/**
 * Returns the messages with tool parts of the type `tool-<name>` instead of `dynamic-tool`. Only
 * such parts have typed inputs and outputs in AI SDK.
 */
export function withStaticParts(messages: readonly object[]): UIMessage[] {
  return (messages as readonly UIMessage[]).map((message) => ({
    ...message,
    parts: message.parts.map(toStaticPart),
  }));
}

function toStaticPart(part: Part): Part {
  if (part.type !== 'dynamic-tool') return part;
  const { toolName, ...call } = part;
  return { ...call, type: `tool-${toolName}` } as Part;
}

/** Changes the chunks of a stream in the same way. */
export function staticChunks(stream: ReadableStream<object>): ReadableStream<UIMessageChunk> {
  return stream.pipeThrough(
    new TransformStream<object, UIMessageChunk>({
      transform(chunk, controller) {
        const { dynamic: _dynamic, ...fields } = chunk as { readonly dynamic?: boolean };
        controller.enqueue(fields as UIMessageChunk);
      },
    }),
  );
}
