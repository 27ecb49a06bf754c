import { checkFields } from '../error/check-fields.ts';
import type { ContentBlock } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel } from '../model/chat-model.ts';

export interface MultiAgentOptions {
  /** Text before a history that explains the history to the model. */
  readonly header?: string;
  /**
   * Which histories of a request have the header. Default: `each`. With `dashscope()`, the default
   * is `first`, as in AgentScope.
   */
  readonly headerOn?: 'each' | 'first';
  /**
   * When lines begin with the name of the speaker. Default `several`: if the history has several
   * messages. With `dashscope()`, the default is `always`, as in AgentScope.
   */
  readonly names?: 'several' | 'always';
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
 * bypassHistory: true }` stay unchanged. The session log does not change (AgentScope: the
 * `MultiAgentFormatter`s).
 */
export function multiAgent(model: ChatModel, options: MultiAgentOptions = {}): ChatModel {
  const fields = 'model:stream() header:string|? headerOn:each|first|? names:several|always|?';
  checkFields('CONFIGURATION', 'multiAgent()', { ...options, model }, fields);
  const isDashScope = model.provider === 'dashscope';
  const merge: Merge = {
    header: 'The conversation so far is between the history tags.',
    headerOn: isDashScope ? 'first' : 'each',
    names: isDashScope ? 'always' : 'several',
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
      view.push(first);
      start++;
      continue;
    }
    const end = messages.findIndex((message, index) => index > start && !isSpeech(message));
    const group = messages.slice(start, end < 0 ? undefined : end);
    const ownHeader = headerOn === 'each' || histories++ === 0 ? header : '';
    view.push(
      recall(known, group, ownHeader) ??
        remember(known, group, ownHeader, names === 'always' || group.length > 1),
    );
    start += group.length;
  }
  return view;
}

function isSpeech({ role, content, metadata }: Msg): boolean {
  if (role === 'system' || role === 'tool' || metadata?.['bypassHistory'] === true) return false;
  return !content.some((block) => block.type === 'tool_use' || block.type === 'tool_result');
}

function recall(
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

function remember(
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

function toHistory(
  group: readonly Msg[],
  header: string,
  withNames: boolean,
): readonly ContentBlock[] {
  const blocks: ContentBlock[] = [];
  let lines = header ? [header, '<history>'] : ['<history>'];
  for (const { name, role, content } of group) {
    const say = (text: string): void =>
      void lines.push(withNames ? `${name ?? role}: ${text}` : text);
    for (const block of content) {
      if (block.type === 'text' && block.text) say(withoutTags(block.text));
      if (!('source' in block)) continue;
      if (withNames) say(`[${block.type}]`);
      if (lines.length > 0) blocks.push({ type: 'text', text: lines.join('\n') });
      blocks.push(block);
      lines = [];
    }
  }
  return [...blocks, { type: 'text', text: [...lines, '</history>'].join('\n') }];
}

/** Escapes history tags, so that a speaker cannot end the history. */
function withoutTags(text: string): string {
  return text.replace(/<(?=\/?history>)/gi, '&lt;');
}
