import type { ContentBlock, MediaBlock, ToolResult } from '../message/content-block.ts';
import { mediaPlaceholder } from '../message/media.ts';
import { toolResultsOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { asOwn } from '../message/metadata-keys.ts';
import type { ModelFeatures } from './chat-model.ts';
import { withStream, type ModelMiddleware } from './wrap-model.ts';

/** Consecutive messages with tool results, and the messages that the model gets instead. */
interface Shown {
  readonly group: readonly Msg[];
  readonly view: readonly Msg[];
}

/**
 * Shows a model the media in tool results, if its protocol allows only text in results (OxyGent:
 * observations with attachments). This is the case for chat completions and for `fromAiSdk`. In the
 * result, a placeholder replaces each medium that the model accepts. A user message after all
 * results of the reply contains the media and names their results. The model does not get media
 * that it does not accept. Only the request changes, not the session log. `dashscope()` and
 * `textToolCalls()` do not need this middleware.
 */
export function toolMedia(): ModelMiddleware {
  return {
    name: 'toolMedia',
    wrapModel(model) {
      const { media } = model.features;
      // Later requests reuse the same objects, so that their JSON for the provider is built once.
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

/** Groups consecutive messages with tool results. Every other message is a group of its own. */
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
  return [...replaced, asOwn({ id: `${id}:media`, role: 'user', content: taken, createdAt })];
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
