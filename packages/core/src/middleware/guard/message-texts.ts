import { isSameJson, isObjectOrArray, type JsonValue } from '../../message/json.ts';
import type { ContentBlock, ToolUse, Msg } from '../../message/msg.ts';

/**
 * Returns every text of the messages that a model may read. This includes names and arguments of
 * tool calls, tool results, names of speakers, and names and media types of files.
 */
export function textsOf(messages: readonly Msg[]): readonly string[] {
  const texts: string[] = [];
  mapTexts(messages, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/**
 * Returns every text of the messages and the URLs of their media, without inline data. A model that
 * does not accept a medium reads its URL.
 */
export function textWithUrls(messages: readonly Msg[]): string {
  const urls = messages.flatMap(({ content }) => content.flatMap(urlsIn));
  return [...textsOf(messages), ...urls].join('\n');
}

/**
 * Applies `change` to each text that `textsOf` returns. A message without changes stays the same
 * object.
 */
export function mapTexts(messages: readonly Msg[], change: Change): readonly Msg[] {
  return messages.map((message) => {
    const content = mapBlocks(message.content, change);
    return withFields(message, { content, ...mapName(message, change) });
  });
}

type Change = (text: string) => string;

function mapBlocks(blocks: readonly ContentBlock[], change: Change): readonly ContentBlock[] {
  const mapped = blocks.map((block) => mapBlock(block, change));
  return mapped.some((block, index) => block !== blocks[index]) ? mapped : blocks;
}

function mapBlock(block: ContentBlock, change: Change): ContentBlock {
  switch (block.type) {
    case 'text':
      return withFields(block, { text: change(block.text) });
    case 'thinking':
      return withFields(block, { thinking: change(block.thinking) });
    case 'tool_use':
      return mapCall(block, change);
    case 'tool_result': {
      const { output: source } = block;
      const output = typeof source === 'string' ? change(source) : mapBlocks(source, change);
      return withFields(block, { output, ...mapName(block, change) });
    }
    default: {
      // A model that does not accept a medium reads its name or its media type.
      const { mediaType } = block.source;
      const source = withFields(block.source, mediaType ? { mediaType: change(mediaType) } : {});
      return withFields(block, { source, ...mapName(block, change) });
    }
  }
}

function mapName(source: { readonly name?: string }, change: Change): { readonly name?: string } {
  return source.name ? { name: change(source.name) } : {};
}

/** Returns a copy with these fields, or the same object if it has them already. */
function withFields<T extends object>(source: T, fields: Partial<T>): T {
  const keys = Object.keys(fields) as (keyof T)[];
  return keys.every((key) => source[key] === fields[key]) ? source : { ...source, ...fields };
}

function mapCall(call: ToolUse, change: Change): ToolUse {
  const name = change(call.name);
  const input = mapStrings(call.input, change);
  // The raw arguments may say more than the parsed ones, for example a field twice.
  const raw = call.raw && change(call.raw);
  const isSame = isSameJson(input, call.input);
  if (isSame && name === call.name && raw === call.raw) return call;
  const { raw: _raw, ...rest } = call;
  return { ...rest, name, input, ...(call.input === null && raw && { raw }) };
}

function urlsIn(block: ContentBlock): readonly string[] {
  if (block.type === 'tool_result')
    return typeof block.output === 'string' ? [] : block.output.flatMap(urlsIn);
  if (!('source' in block) || block.source.type !== 'url') return [];
  return block.source.url.startsWith('data:') ? [] : [block.source.url];
}

/**
 * Returns a copy of a value in which `change` was applied to each string, number and field name. A
 * number that changes becomes a string.
 */
export function mapStrings(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') {
    const text = change(String(value));
    return text === String(value) ? value : text;
  }
  if (!isObjectOrArray(value)) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapStrings(item, change));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [change(key), mapStrings(one as JsonValue, change)]),
  );
}
