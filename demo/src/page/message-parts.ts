import type { DynamicToolUIPart, UIMessage } from 'ai';
import * as z from 'zod';
import type { Theme } from './theme.ts';

export function textOfMessage(message: UIMessage): string {
  return message.parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n');
}

export function toolParts(message: UIMessage): readonly DynamicToolUIPart[] {
  return message.parts.filter((part) => part.type === 'dynamic-tool');
}

/**
 * Returns whether a message has anything to show. A run that failed at once leaves an answer
 * without parts.
 */
export function isVisible({ role, parts }: UIMessage): boolean {
  return (
    role === 'user' ||
    parts.some((part) => part.type === 'dynamic-tool' || ('text' in part && part.text !== ''))
  );
}

/**
 * Returns the messages with each tool call once, at its first place and in its latest state. If a
 * user message denies a call, the result of that call is only in the next answer.
 */
export function withCallsOnce(messages: readonly UIMessage[]): readonly UIMessage[] {
  const latest = new Map(
    messages.flatMap(toolParts).map((part) => [part.toolCallId, part] as const),
  );
  return messages.map((message) => ({
    ...message,
    parts: message.parts.flatMap((part): UIMessage['parts'] => {
      if (part.type !== 'dynamic-tool') return [part];
      const shown = latest.get(part.toolCallId);
      latest.delete(part.toolCallId);
      return shown ? [shown] : [];
    }),
  }));
}

/**
 * Returns whether both lists show the same content. Ignores ids, because the log and the stream may
 * use different ids.
 */
export function saysTheSame(some: readonly UIMessage[], others: readonly UIMessage[]): boolean {
  const shown = (messages: readonly UIMessage[]): string =>
    JSON.stringify(messages.filter(isVisible).map(outline));
  return shown(some) === shown(others);
}

function outline({ role, parts }: UIMessage): readonly unknown[] {
  const shown = parts.flatMap((part) => {
    if (part.type === 'dynamic-tool') return [part.toolCallId, part.state];
    return part.type === 'text' && part.text ? ['', part.text] : [];
  });
  return [role, ...shown];
}

const themeOutput = z.object({ theme: z.enum(['light', 'dark']) });

/** Returns the theme that each call of the theme tool chose. */
export function themeResults(
  messages: readonly UIMessage[],
): readonly { readonly id: string; readonly theme: Theme }[] {
  return messages.flatMap(toolParts).flatMap((part) => {
    if (
      part.toolName !== 'set_theme' ||
      part.state !== 'output-available' ||
      typeof part.output !== 'string'
    )
      return [];
    const { theme } = themeOutput.parse(JSON.parse(part.output));
    return [{ id: part.toolCallId, theme }];
  });
}
