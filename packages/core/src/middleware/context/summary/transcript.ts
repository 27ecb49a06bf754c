import type { ContentBlock } from '../../../message/content-block.ts';
import { mediaPlaceholder } from '../../../message/media/media.ts';
import type { Msg } from '../../../message/msg.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';

/**
 * Writes a conversation as text, in pieces of at most `partTokens` estimated tokens. A message that
 * is longer than one piece loses its middle. Thinking is left out.
 */
export function transcript(
  messages: readonly Msg[],
  { partTokens, profile }: { partTokens: number; profile: TokenProfile },
): readonly string[] {
  const parts: string[] = [];
  let part = '';
  let size = 0;
  for (const message of messages) {
    const entry = shorten(entryOf(message), partTokens, profile);
    if (!entry) continue;
    const tokens = profile.countText(entry);
    if (part && size + tokens > partTokens) {
      parts.push(part);
      part = '';
      size = 0;
    }
    part += part && '\n\n';
    part += entry;
    size += tokens;
  }
  return part ? [...parts, part] : parts;
}

function entryOf({ role, name, content }: Msg): string {
  const text = content.flatMap((block) => lineOf(block) || []).join('\n');
  return text && `[${name ? `${role} ${name}` : role}] ${text}`;
}

function lineOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return '';
    case 'tool_use':
      return `calls ${block.name} ${block.raw ?? JSON.stringify(block.input)}`;
    case 'tool_result': {
      const output =
        typeof block.output === 'string' ? block.output : block.output.map(lineOf).join('\n');
      return `${block.name} returned (${block.state}): ${output}`;
    }
    default:
      return mediaPlaceholder(block);
  }
}

function shorten(text: string, maxTokens: number, profile: TokenProfile): string {
  let shortened = text;
  for (
    let tokens = profile.countText(text);
    tokens > maxTokens;
    tokens = profile.countText(shortened)
  ) {
    const length = Math.floor((shortened.length * maxTokens) / tokens / 2) - 4;
    if (length < 1) return '';
    // Some servers reject text with half a surrogate pair.
    const head = shortened.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
    shortened = `${head} … ${shortened.slice(-length).replace(/^[\uDC00-\uDFFF]/, '')}`;
  }
  return shortened;
}
