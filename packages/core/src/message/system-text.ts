import type { Msg } from './msg.ts';

/**
 * Adds a text to a system message, after a blank line. Some models accept only one system message.
 */
export function withSystemText(system: Msg, text: string): Msg {
  // The blocks of a system message are joined by a line break.
  return { ...system, content: [...system.content, { type: 'text', text: `\n${text}` }] };
}
