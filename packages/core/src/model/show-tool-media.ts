import { checkNoOptions } from '../error/options/check-options.ts';
import {
  blocksOf,
  hasToolResults,
  toolResultsOf,
  type ContentBlock,
  type MediaBlock,
  type Msg,
  type ToolResult,
} from '../message/msg.ts';
import { isMedia, mediaPlaceholder } from '../message/media/media.ts';
import { markAsProgram } from '../message/metadata.ts';
import { oncePerGroup, resultGroups } from '../message/conversation/tool-pairs.ts';
import type { ModelFeatures } from './chat-model.ts';
import { withStream, type ModelMiddleware } from './wrap-model.ts';

/**
 * Shows a model the media in tool results, if its protocol allows only text in results. This is the
 * case for chat completions and for `fromAiSdk`. In the result, a placeholder replaces each medium
 * that the model accepts. A user message after all results of the reply contains the media and
 * names their results. The model does not get media that it does not accept. Only the request
 * changes, not the session log. `dashscope()` and `textToolCalls()` do not need this middleware.
 * Source: OxyGent, observations with attachments.
 */
export function showToolMedia(): ModelMiddleware;
export function showToolMedia(...args: readonly unknown[]): ModelMiddleware {
  checkNoOptions(
    'showToolMedia()',
    args,
    'It shows the media that `features.media` of the model names.',
  );
  return {
    name: 'showToolMedia',
    wrapModel(model) {
      const { media } = model.features;
      const show = oncePerGroup((group) => withMedia(group, media));
      return withStream(model, (request, context) => {
        const messages = resultGroups(request.messages).flatMap((group) =>
          hasToolResults(group[0]!) ? show(group) : group,
        );
        return model.stream({ ...request, messages }, context);
      });
    },
  };
}

function withMedia(group: readonly Msg[], media: ModelFeatures['media']): readonly Msg[] {
  const isMoved = (block: ContentBlock): block is MediaBlock =>
    isMedia(block) && media.includes(block.type);
  const movedBlocks = group
    .flatMap(toolResultsOf)
    .flatMap(({ name, toolUseId, output }): readonly ContentBlock[] => {
      const blocks = blocksOf(output).filter(isMoved);
      return blocks.length
        ? [{ type: 'text', text: `From the result of ${name} (call ${toolUseId}):` }, ...blocks]
        : [];
    });
  if (!movedBlocks.length) return group;
  const withPlaceholders = group.map((message) => ({
    ...message,
    content: message.content.map((block) => withoutMedia(block, isMoved)),
  }));
  const { id, createdAt } = group.at(-1)!;
  return [
    ...withPlaceholders,
    markAsProgram({ id: `${id}:media`, role: 'user', content: movedBlocks, createdAt }),
  ];
}

function withoutMedia(
  block: ContentBlock,
  isMoved: (block: ContentBlock) => block is MediaBlock,
): ContentBlock {
  if (block.type !== 'tool_result' || typeof block.output === 'string') return block;
  const output = block.output.map((one): ContentBlock =>
    isMoved(one) ? { type: 'text', text: mediaPlaceholder(one) } : one,
  );
  return { ...block, output } satisfies ToolResult;
}
