import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';

/** A tool that only a page can have: a worker and the edge see no window. */
export const windowSize: Tool = tool({
  name: 'window_size',
  description: 'Width and height of the user’s window, in pixels.',
  input: z.object({}),
  execute: () => ({ width: innerWidth, height: innerHeight }),
});
