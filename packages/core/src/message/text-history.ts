import type { ContentBlock, MediaBlock, ToolUse } from './content-block.ts';
import { plainText } from './media.ts';
import { textOf, toolResultsOf, toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { asOwn } from './metadata-keys.ts';
import { writtenText } from './written-reply.ts';

interface Told {
  readonly group: readonly Msg[];
  readonly message: Msg;
}

/**
 * Writes the tool calls and results of a conversation as text, for a model without native tool
 * calls. Returns the same object for the same messages, because the wire form and the token count
 * are cached by object.
 */
export class TextHistory {
  readonly #media: readonly MediaBlock['type'][];
  readonly #told: WeakMap<Msg, Told> = new WeakMap();

  constructor(media: readonly MediaBlock['type'][]) {
    this.#media = media;
  }

  /**
   * Converts tool calls into assistant text. Uses the text that the model wrote, if the log has it.
   * Converts consecutive tool results into one user message. Drops assistant messages without
   * words, media or tool calls. Returns other messages unchanged.
   */
  render(messages: readonly Msg[]): readonly Msg[] {
    const view: Msg[] = [];
    for (let index = 0; index < messages.length;) {
      const message = messages[index]!;
      let end = index + 1;
      if (isResult(message)) {
        while (messages[end] && isResult(messages[end]!)) end++;
        view.push(this.#remember(messages.slice(index, end), (group) => this.#observation(group)));
      } else if (toolUsesOf(message).length)
        view.push(this.#remember([message], ([first]) => withCallsAsText(first!)));
      else if (message.role !== 'assistant' || message.content.some(isSaid)) view.push(message);
      index = end;
    }
    return view;
  }

  #remember(group: readonly Msg[], tell: (group: readonly Msg[]) => Msg): Msg {
    const known = this.#told.get(group[0]!);
    if (
      known?.group.length === group.length &&
      group.every((message, index) => message === known.group[index])
    )
      return known.message;
    const message = tell(group);
    this.#told.set(group[0]!, { group, message });
    return message;
  }

  /**
   * Returns one message for several tool results: first the media, then all texts as one text
   * (OxyGent).
   */
  #observation(group: readonly Msg[]): Msg {
    const results = group.flatMap(toolResultsOf);
    const media = results.flatMap(({ output }) =>
      typeof output === 'string' ? [] : output.filter((block) => this.#reads(block)),
    );
    const text = results
      .map(({ name, output }) => `Tool [${name}] execution result: ${plainText(output)}`)
      .join('\n\n');
    const others = group.flatMap(({ content }) =>
      content.filter(({ type }) => type !== 'tool_result'),
    );
    const { id } = group[0]!;
    const { createdAt } = group.at(-1)!;
    const content: ContentBlock[] = [...media, { type: 'text', text }, ...others];
    return asOwn({ id, role: 'user', content, createdAt });
  }

  #reads(block: ContentBlock): boolean {
    return this.#media.includes(block.type as MediaBlock['type']);
  }
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

function isResult({ content }: Msg): boolean {
  return content.some(({ type }) => type === 'tool_result');
}

function isSaid(block: ContentBlock): boolean {
  return 'source' in block || (block.type === 'text' && block.text.trim() !== '');
}
