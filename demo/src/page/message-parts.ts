import {
  getToolName,
  isToolUIPart,
  type DynamicToolUIPart,
  type ToolUIPart,
  type UIMessage,
} from '@isoloop/react';
import * as z from 'zod/mini';
import type { Theme } from './theme.ts';

/** Call of a tool. */
export type ToolPart = ToolUIPart | DynamicToolUIPart;

export function textOfMessage(message: UIMessage): string {
  return message.parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n');
}

export function toolParts(message: UIMessage): readonly ToolPart[] {
  return message.parts.filter(isToolUIPart);
}

/** Returns whether an answer came to the edge from a browser, so that only the browser knows it. */
export function isImported({ metadata }: UIMessage): boolean {
  return (metadata as { readonly imported?: boolean } | undefined)?.imported === true;
}

/**
 * Returns whether a message has anything to show. A run that failed at once leaves an answer
 * without parts.
 */
export function isVisible({ role, parts }: UIMessage): boolean {
  return (
    role === 'user' ||
    parts.some((part) => isToolUIPart(part) || ('text' in part && part.text !== ''))
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
      if (!isToolUIPart(part)) return [part];
      const shown = latest.get(part.toolCallId);
      latest.delete(part.toolCallId);
      return shown ? [shown] : [];
    }),
  }));
}

const themeOutput = z.object({ theme: z.enum(['light', 'dark']) });

/** Returns the theme that each call of the theme tool chose. */
export function themeResults(
  messages: readonly UIMessage[],
): readonly { readonly id: string; readonly theme: Theme }[] {
  return messages.flatMap(toolParts).flatMap((part) => {
    if (getToolName(part) !== 'set_theme' || part.state !== 'output-available') return [];
    const { data } = themeOutput.safeParse(part.output);
    return data ? [{ id: part.toolCallId, theme: data.theme }] : [];
  });
}
