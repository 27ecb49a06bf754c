import { createMessage } from '../message/create-message.ts';
import { textOf } from '../message/message-text.ts';
import type { Run } from './run.ts';

/**
 * Puts a text behind the system prompt of a run that has not begun; where there is none it is the
 * whole of it.
 */
export function addToSystemPrompt(run: Run, text: string): void {
  if (!text.trim()) return;
  const { systemMessage, now } = run.setup;
  const whole = systemMessage ? `${textOf(systemMessage)}\n\n${text}` : text;
  run.setup = {
    ...run.setup,
    systemMessage: createMessage('system', whole, { id: 'system', now }),
  };
}
