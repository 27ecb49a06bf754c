import type { ModelRequest } from '../model/chat-model.ts';

/** Returns whether a request lets the model call tools. */
export function offersTools({ tools, toolChoice }: ModelRequest): boolean {
  return tools.length > 0 && toolChoice !== 'none';
}
