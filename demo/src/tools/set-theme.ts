import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';

/**
 * The page listens for this tool's result and applies it; the tool itself only says what was
 * chosen.
 */
export const setTheme: Tool = tool({
  name: 'set_theme',
  description: 'Switches the page between light and dark.',
  input: z.object({ theme: z.enum(['light', 'dark']) }),
  execute: ({ theme }) => ({ theme }),
});
