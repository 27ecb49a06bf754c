import type { ContentBlock, MediaBlock, ToolUse } from './content-block.ts';
import { plainText } from './media.ts';
import { textOf, toolResultsOf, toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { asOwn } from './metadata-keys.ts';
import { bringsResults, oncePerGroup, resultGroups } from './result-groups.ts';
import { writtenText } from './written-reply.ts';

/**
 * Writes the tool calls and results of a conversation as text, for a model without native tool
 * calls. Tool calls become assistant text: the text that the model wrote, if the log has it.
 * Consecutive tool results become one user message, with the media of the types in `media`.
 * Assistant messages without words, media or tool calls are dropped. Other messages stay. Returns the
 * same object for the same messages.
 */
export function textHistory(
  media: readonly MediaBlock['type'][],
): (messages: readonly Msg[]) => readonly Msg[] {
  const told = oncePerGroup((group) =>
    bringsResults(group[0]!) ? observation(group, media) : withCallsAsText(group[0]!),
  );
  const shown = (group: readonly Msg[]): Msg | readonly Msg[] => {
    const message = group[0]!;
    if (bringsResults(message) || toolUsesOf(message).length) return told(group);
    return message.role !== 'assistant' || message.content.some(isSaid) ? message : [];
  };
  return (messages) => resultGroups(messages).flatMap(shown);
}

/** Returns one message for several tool results: first the media, then all texts as one text (OxyGent). */
function observation(group: readonly Msg[], media: readonly MediaBlock['type'][]): Msg {
  const results = group.flatMap(toolResultsOf);
  const isRead = ({ type }: ContentBlock): boolean => media.some((each) => each === type);
  const files = results.flatMap(({ output }) =>
    typeof output === 'string' ? [] : output.filter(isRead),
  );
  const text = results
    .map(({ name, output }) => `Tool [${name}] execution result: ${plainText(output)}`)
    .join('\n\n');
  const blocks = group.flatMap(({ content }) => content);
  const others = blocks.filter(({ type }) => type !== 'tool_result');
  const { id } = group[0]!;
  const { createdAt } = group.at(-1)!;
  const content: ContentBlock[] = [...files, { type: 'text', text }, ...others];
  return asOwn({ id, role: 'user', content, createdAt });
}

/** Writes tool calls in the form that the model should use. */
export function callsText(calls: readonly ToolUse[]): string {
  const given = calls.map(({ name, input, raw }) => ({
    tool_name: name,
    arguments: input === null && raw ? raw : input,
  }));
  return `\`\`\`json\n${JSON.stringify(given.length === 1 ? given[0] : given)}\n\`\`\``;
}

function withCallsAsText(message: Msg): Msg {
  const text =
    writtenText(message) ??
    [textOf(message), callsText(toolUsesOf(message))].filter(Boolean).join('\n\n');
  const others = message.content.filter(({ type }) => type !== 'text' && type !== 'tool_use');
  return asOwn({ ...message, content: [...others, { type: 'text', text }] });
}

function isSaid(block: ContentBlock): boolean {
  return 'source' in block || (block.type === 'text' && block.text.trim() !== '');
}
