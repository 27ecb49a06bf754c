import { checkOptions } from '../../error/options/check-options.ts';
import { oneOf, optional, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { chatModel } from '../model-kind.ts';
import { textOf, type ContentBlock, type MediaBlock, type Msg } from '../../message/msg.ts';
import { cleanText, ownTags, withoutTags } from '../../message/text.ts';
import { isMedia } from '../../message/media/media.ts';
import { isFromProgram } from '../../message/metadata.ts';
import { groupMessages, oncePerGroup } from '../../message/conversation/tool-pairs.ts';
import type { ChatModel, HistoryForm } from '../chat-model.ts';
import { withStream } from '../wrap-model.ts';

/**
 * Options of `multiAgent()`. The defaults of `headerOn` and `names` are the model's own, if any.
 */
export interface MultiAgentOptions extends HistoryForm {
  /** Text before a history that explains the history to the model. */
  readonly header?: string;
}

/**
 * Wraps a model for conversations of several agents. Consecutive text messages of agents and users
 * become one user message. It contains a `<history>` with lines of the form `Name: text`, and media
 * between the lines. System messages, tool calls with their results, and messages with
 * `metadata: { origin: 'program' }` stay separate. The library sets this field in all its own
 * messages, such as prompts and recalled text. The session log does not change.
 *
 * No speaker can imitate another one. Further lines of a text are indented. In a name, `\ufffd`
 * replaces line breaks and colons. In every user message, the `<` of a history tag becomes `&lt;`,
 * because a separate message may quote a tool. The tags around recalled text stay tags. Source:
 * AgentScope, the `MultiAgentFormatter`s.
 */
export function multiAgent(model: ChatModel, options: MultiAgentOptions = {}): ChatModel {
  checkOptions('multiAgent()', { ...options, model }, multiAgentOptions);
  const {
    header = defaultHeader,
    headerOn = 'each',
    names = 'several',
  }: MultiAgentOptions = { ...model.features.history, ...options };
  const toHistory = (start: readonly string[]) => (group: readonly Msg[]) =>
    history(group, start, names === 'always' || needsNames(group));
  const withHeader = oncePerGroup(toHistory(header ? [header] : []));
  const withoutHeader = oncePerGroup(toHistory([]));
  const separate = oncePerGroup(([message]) => withoutHistoryTags(message!));
  return withStream(model, (request, context) => {
    let historyCount = 0;
    const messages = groupMessages(request.messages, isSpeech).map((group) => {
      if (!isSpeech(group[0]!)) return separate(group);
      historyCount += 1;
      return headerOn === 'each' || historyCount === 1 ? withHeader(group) : withoutHeader(group);
    });
    return model.stream({ ...request, messages }, context);
  });
}

const multiAgentOptions: OptionTable<MultiAgentOptions & { readonly model: ChatModel }> = {
  model: chatModel,
  header: optional(string),
  headerOn: optional(oneOf('each', 'first')),
  names: optional(oneOf('several', 'always')),
};

const defaultHeader =
  'The conversation so far is between the history tags. ' +
  'An indented line continues the message above it.';

function isSpeech(message: Msg): boolean {
  const { role, content } = message;
  if (role === 'system' || role === 'tool' || isFromProgram(message)) return false;
  return !content.some((block) => block.type === 'tool_use' || block.type === 'tool_result');
}

function needsNames(group: readonly Msg[]): boolean {
  return group.length > 1 || textOf(group[0]!).search(colon) >= 0;
}

/**
 * Returns a message that stays outside the history. Its text cannot imitate a history. A message of
 * the program keeps its other tags, which are real: in their text, the library has replaced them.
 */
function withoutHistoryTags(message: Msg): Msg {
  const tags = isFromProgram(message) ? ['history'] : libraryTags;
  const text = textOf(message);
  if (message.role !== 'user' || withoutTags(text, tags) === text) return message;
  const content = message.content.map((block) =>
    block.type === 'text' ? { ...block, text: withoutTags(block.text, tags) } : block,
  );
  return { ...message, content };
}

/** Tags that only the library writes. */
const libraryTags = [...ownTags, 'history'];

/** Returns the messages of a group as one. `header`: the text before the history. */
function history(group: readonly Msg[], header: readonly string[], withNames: boolean): Msg {
  const content: ContentBlock[] = [];
  let start = [...header, '<history>'];
  let lines: string[] = [];
  const endBlock = (end: readonly string[]): void => {
    // Reads the lines together, because a tag may begin in one text and end in the next one.
    const middle = lines.length ? [withoutTags(lines.join('\n'), libraryTags)] : [];
    const text = [...start, ...middle, ...end].join('\n');
    if (text) content.push({ type: 'text', text });
    start = [];
    lines = [];
  };
  for (const message of group) {
    const speaker = withNames ? `${nameOf(message)}: ` : '';
    for (const block of message.content) {
      if (block.type === 'text' && block.text) lines.push(speaker + indentText(block.text));
      if (!isMedia(block)) continue;
      if (speaker) lines.push(`${speaker}[${block.type}]`);
      endBlock([]);
      content.push(inOneLine(block));
    }
  }
  endBlock(['</history>']);
  const { createdAt } = group.at(-1)!;
  return { id: group[0]!.id, role: 'user', content, createdAt };
}

/**
 * Returns the text with its further lines indented, so that no line of it looks like a speaker's.
 */
function indentText(text: string): string {
  return cleanText(text).replaceAll('\n', '\n  ');
}

/** The colon, and characters that look like it. */
const colon = /[:\u02d0\u02f8\u2236\ua789\ufe13\ufe55\uff1a]/gu;

/** Returns the name of the speaker, without characters that could end a name. */
function nameOf({ name, role }: Msg): string {
  // A visible replacement, because without the characters "Bob:" would be equal to "Bob".
  const replaced = name?.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu, '\ufffd');
  return replaced?.replace(colon, '\ufffd') || role;
}

/** Encodes line breaks and tags in name and URL. A provider may write both as text. */
function inOneLine({ name, source, ...block }: MediaBlock): MediaBlock {
  const encode = (text: string): string =>
    text.replace(/[\p{Cc}\p{Zl}\p{Zp}<＜﹤]/gu, encodeURIComponent);
  return {
    ...block,
    source: source.type === 'url' ? { ...source, url: encode(source.url) } : source,
    ...(name !== undefined && { name: encode(name) }),
  };
}
