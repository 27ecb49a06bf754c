import { tool, type Tool } from '@isoloop/core';

/** A tool that only a page can have: a worker and the edge see no window. */
export const windowSize: Tool = tool({
  name: 'window_size',
  description: 'Width and height of the user’s window, in pixels.',
  input: { type: 'object', properties: {} },
  execute: () => ({ width: innerWidth, height: innerHeight }),
});
