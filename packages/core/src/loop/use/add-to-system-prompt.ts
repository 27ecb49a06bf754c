import type { RunContext } from '../run/run-context.ts';

/** Puts a text behind the system prompt; where there is none it is the whole of it. */
export function addToSystemPrompt(context: RunContext, text: string): void {
  if (!text.trim()) return;
  const { systemPrompt } = context;
  context.setSystemPrompt(systemPrompt ? `${systemPrompt}\n\n${text}` : text);
}
