import { checkOptions } from '../../error/agent-error.ts';
import { textOf, type ContentBlock, type MediaBlock, type Msg } from '../../message/msg.ts';
import { cleanText, withoutTags } from '../../message/fence.ts';
import { isMedia } from '../../message/media.ts';
import { isOwn } from '../../message/metadata.ts';
import type { ChatModel, HistoryForm } from '../chat-model.ts';

/** Options of `multiAgent()`. The defaults of `headerOn` and `names` are the model's own, if any. */
export interface MultiAgentOptions extends HistoryForm {
  /** Text before a history that explains the history to the model. */
  readonly header?: string;
}

type Merge = Required<MultiAgentOptions>;

interface Merged {
  readonly group: readonly Msg[];
  readonly header: string;
  readonly message: Msg;
}

/**
 * Wraps a model for conversations of several agents. Consecutive text messages of agents and users
 * become one user message. It contains a `<history>` with lines of the form `Name: text`, and media
 * between the lines. System messages, tool calls with their results, and messages with `metadata: {
 * bypassHistory: true }` stay separate. The library sets this field in all its own messages, such
 * as prompts and recalled text. The session log does not change (AgentScope: the
 * `MultiAgentFormatter`s).
 *
 * No speaker can imitate another one. Further lines of a text are indented. In a name, `\ufffd`
 * replaces line breaks and colons. In every user message, the `<` of a history tag becomes `&lt;`,
 * because a separate message may quote a tool.
 */
export function multiAgent(model: ChatModel, options: MultiAgentOptions = {}): ChatModel {
  const fields = 'model:stream() header:string|? headerOn:each|first|? names:several|always|?';
  checkOptions('multiAgent()', { ...options, model }, fields);
  const merge: Merge = {
    header:
      'The conversation so far is between the history tags. An indented line continues the message above it.',
    headerOn: 'each',
    names: 'several',
    ...model.features.history,
    ...options,
  };
  // Later requests reuse the merged message, so that its JSON for the provider is built once.
  const known = new WeakMap<Msg, Merged>();
  return {
    provider: model.provider,
    modelId: model.modelId,
    features: model.features,
    stream: (request, context) =>
      model.stream(
        { ...request, messages: mergeConversations(request.messages, merge, known) },
        context,
      ),
  };
}

function mergeConversations(
  messages: readonly Msg[],
  { header, headerOn, names }: Merge,
  known: WeakMap<Msg, Merged>,
): readonly Msg[] {
  const view: Msg[] = [];
  let histories = 0;
  for (let start = 0; start < messages.length;) {
    const first = messages[start]!;
    if (!isSpeech(first)) {
      view.push(findMerged(known, [first], '') ?? toSeparate(known, first));
      start++;
      continue;
    }
    const end = messages.findIndex((message, index) => index > start && !isSpeech(message));
    const group = messages.slice(start, end < 0 ? undefined : end);
    const ownHeader = headerOn === 'each' || histories++ === 0 ? header : '';
    view.push(
      findMerged(known, group, ownHeader) ??
        mergeGroup(known, group, ownHeader, names === 'always' || needsNames(group)),
    );
    start += group.length;
  }
  return view;
}

function isSpeech(message: Msg): boolean {
  const { role, content } = message;
  if (role === 'system' || role === 'tool' || isOwn(message)) return false;
  return !content.some((block) => block.type === 'tool_use' || block.type === 'tool_result');
}

function needsNames(group: readonly Msg[]): boolean {
  return group.length > 1 || textOf(group[0]!).search(colon) >= 0;
}

function findMerged(
  known: WeakMap<Msg, Merged>,
  group: readonly Msg[],
  header: string,
): Msg | undefined {
  const found = known.get(group[0]!);
  const isSame =
    found?.header === header &&
    found.group.length === group.length &&
    group.every((message, index) => message === found.group[index]);
  return isSame ? found.message : undefined;
}

function mergeGroup(
  known: WeakMap<Msg, Merged>,
  group: readonly Msg[],
  header: string,
  withNames: boolean,
): Msg {
  const { id } = group[0]!;
  const { createdAt } = group.at(-1)!;
  const message: Msg = {
    id,
    role: 'user',
    content: toHistory(group, header, withNames),
    createdAt,
  };
  known.set(group[0]!, { group, header, message });
  return message;
}

/** Returns a message that stays outside the history. Its text cannot imitate a history. */
function toSeparate(known: WeakMap<Msg, Merged>, message: Msg): Msg {
  const content = message.content.map(withoutHistoryTags);
  const isSame = content.every((block, index) => block === message.content[index]);
  if (message.role !== 'user' || isSame) return message;
  const escaped: Msg = { ...message, content };
  known.set(message, { group: [message], header: '', message: escaped });
  return escaped;
}

function withoutHistoryTags(block: ContentBlock): ContentBlock {
  if (block.type !== 'text') return block;
  const text = withoutHistory(block.text);
  return text === block.text ? block : { ...block, text };
}

function withoutHistory(text: string): string {
  return withoutTags(text, ['history']);
}

function toHistory(
  group: readonly Msg[],
  header: string,
  withNames: boolean,
): readonly ContentBlock[] {
  const blocks: ContentBlock[] = [];
  let start = header ? [header, '<history>'] : ['<history>'];
  let lines: string[] = [];
  const endBlock = (end: readonly string[]): void => {
    // Reads the lines together, because a tag may begin in one text and end in the next one.
    const said = lines.length ? [withoutHistory(lines.join('\n'))] : [];
    const text = [...start, ...said, ...end].join('\n');
    if (text) blocks.push({ type: 'text', text });
    start = [];
    lines = [];
  };
  for (const message of group) {
    const speaker = withNames ? `${nameOf(message)}: ` : '';
    for (const block of message.content) {
      if (block.type === 'text' && block.text) lines.push(speaker + indented(block.text));
      if (!isMedia(block)) continue;
      if (speaker) lines.push(`${speaker}[${block.type}]`);
      endBlock([]);
      blocks.push(inOneLine(block));
    }
  }
  endBlock(['</history>']);
  return blocks;
}

/** Returns the text with its further lines indented, so that no line of it looks like a speaker's. */
function indented(text: string): string {
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
  const encoded = (text: string): string =>
    text.replace(/[\p{Cc}\p{Zl}\p{Zp}<＜﹤]/gu, encodeURIComponent);
  return {
    ...block,
    source: source.type === 'url' ? { ...source, url: encoded(source.url) } : source,
    ...(name !== undefined && { name: encoded(name) }),
  };
}
