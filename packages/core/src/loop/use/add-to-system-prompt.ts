import type { RunContext } from '../run/run-context.ts';

/** Appends a text to the system prompt, or sets it if there is none. */
export function addToSystemPrompt(context: RunContext, text: string): void {
  if (!text.trim()) return;
  const { systemPrompt } = context;
  context.setSystemPrompt(systemPrompt ? `${systemPrompt}\n\n${text}` : text);
}
