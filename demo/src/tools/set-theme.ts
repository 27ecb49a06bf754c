import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';

/** Returns the chosen theme. The page applies it when it sees this tool's result. */
export const setTheme: Tool = tool({
  name: 'set_theme',
  description: 'Switches the page between light and dark.',
  input: z.object({ theme: z.enum(['light', 'dark']) }),
  execute: ({ theme }) => ({ theme }),
});
