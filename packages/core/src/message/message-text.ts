import type { ContentBlock, ToolResult, ToolUse } from './content-block.ts';
import type { Msg } from './msg.ts';

/** Returns the text blocks of a message, joined by a line break (AgentScope: `getTextContent`). */
export function textOf(message: Msg | readonly ContentBlock[]): string {
  const blocks = 'role' in message ? message.content : message;
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Returns the text of all user messages. */
export function userText(messages: readonly Msg[]): string {
  return messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n\n');
}

/** Returns the thinking blocks of a message that have a text. */
export function thinkingOf({ content }: Msg): readonly string[] {
  return content.flatMap((block) =>
    block.type === 'thinking' && block.thinking ? [block.thinking] : [],
  );
}

/** Returns the tool calls in a message. */
export function toolUsesOf(message: Msg): readonly ToolUse[] {
  return message.content.filter((block) => block.type === 'tool_use');
}

/** Returns the tool call with this id, if the message has it. */
export function toolUseIn(message: Msg, id: string): ToolUse | undefined {
  return toolUsesOf(message).find((use) => use.id === id);
}

/** Returns the tool results in a message. */
export function toolResultsOf(message: Msg): readonly ToolResult[] {
  return message.content.filter((block) => block.type === 'tool_result');
}

/** Returns whether a message has tool results. A user's message may also have them. */
export function isResult({ role, content }: Msg): boolean {
  return role === 'tool' || content.some(({ type }) => type === 'tool_result');
}

/**
 * Returns a tool result's output as text, with a placeholder such as `[image]` for each media
 * block.
 */
export function outputText(output: ToolResult['output']): string {
  if (typeof output === 'string') return output;
  return output.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
}

/**
 * Adds a text to a system message, after a blank line. Some models accept only one system message.
 */
export function withSystemText(system: Msg, text: string): Msg {
  // The blocks of a system message are joined by a line break.
  return { ...system, content: [...system.content, { type: 'text', text: `\n${text}` }] };
}
