import { hasEnded, sourcesOf, type HostedTool } from '../../message/hosted-tool.ts';
import type { Msg } from '../../message/msg.ts';
import type { UiChunk } from './ui-chunk.ts';

type SourceChunk = Extract<UiChunk, { readonly type: 'source-url' | 'source-document' }>;

/** Text of the error of a call whose reply was cut. */
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
export function sourceChunks({ id, content }: Msg): readonly SourceChunk[] {
  const chunks = new Map<string, SourceChunk>();
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
