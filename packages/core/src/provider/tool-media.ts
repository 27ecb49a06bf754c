import type { ContentBlock, MediaBlock, ToolResult } from '../message/content-block.ts';
import { mediaPlaceholder } from '../message/media.ts';
import { toolResultsOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelFeatures } from '../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';

/** What became of a group of results, as long as it is the same. */
interface Shown {
  readonly group: readonly Msg[];
  readonly view: readonly Msg[];
}

/**
 * Shows a model the media in tool results (OxyGent: observations with attachments), where its
 * protocol has them as text alone: chat completions, and AI SDK as we use it. Each medium that the
 * model takes becomes a placeholder in its result, and stands in a user message behind the results
 * of its round, which says whose it is. What the model does not take stays a placeholder. For a
 * request only; the log keeps the results. `dashscope()` and `textToolCalls()` need none of it.
 */
export function toolMedia(): ModelMiddleware {
  return {
    name: 'toolMedia',
    wrapModel(model) {
      const { media } = model.features;
      // The same objects in the next request, so that their wire form is made once.
      const known = new WeakMap<Msg, Shown>();
      const show = (group: readonly Msg[]): readonly Msg[] => {
        const found = known.get(group[0]!);
        if (
          found?.group.length === group.length &&
          group.every((message, index) => message === found.group[index])
        )
          return found.view;
        const view = withMedia(group, media);
        known.set(group[0]!, { group, view });
        return view;
      };
      return withStream(model, (request, context) => {
        const messages = groupsOf(request.messages).flatMap((group) =>
          bringsResults(group[0]!) ? show(group) : group,
        );
        return model.stream({ ...request, messages }, context);
      });
    },
  };
}

/** Messages with results that stand together, each other message by itself. */
function groupsOf(messages: readonly Msg[]): readonly (readonly Msg[])[] {
  const groups: Msg[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last && bringsResults(message) && bringsResults(last[0]!)) last.push(message);
    else groups.push([message]);
  }
  return groups;
}

function bringsResults(message: Msg): boolean {
  return message.content.some(({ type }) => type === 'tool_result');
}

function withMedia(group: readonly Msg[], media: ModelFeatures['media']): readonly Msg[] {
  const isTaken = (block: ContentBlock): block is MediaBlock =>
    'source' in block && media.includes(block.type);
  const taken = group
    .flatMap(toolResultsOf)
    .flatMap(({ name, toolUseId, output }): readonly ContentBlock[] => {
      const blocks = typeof output === 'string' ? [] : output.filter(isTaken);
      return blocks.length
        ? [{ type: 'text', text: `From the result of ${name} (call ${toolUseId}):` }, ...blocks]
        : [];
    });
  if (!taken.length) return group;
  const replaced = group.map((message) => ({
    ...message,
    content: message.content.map((block) => withoutMedia(block, isTaken)),
  }));
  const { id, createdAt } = group.at(-1)!;
  return [
    ...replaced,
    {
      id: `${id}:media`,
      role: 'user',
      content: taken,
      metadata: { bypassHistory: true },
      createdAt,
    },
  ];
}

function withoutMedia(
  block: ContentBlock,
  isTaken: (block: ContentBlock) => block is MediaBlock,
): ContentBlock {
  if (block.type !== 'tool_result' || typeof block.output === 'string') return block;
  const output = block.output.map((one): ContentBlock =>
    isTaken(one) ? { type: 'text', text: mediaPlaceholder(one) } : one,
  );
  return { ...block, output } satisfies ToolResult;
}
