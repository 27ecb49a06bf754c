import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';
import { evaluate } from './evaluate.ts';

export const calculator: Tool = tool({
  name: 'calculator',
  description: 'Works out an arithmetic expression: numbers, + - * / % ^ and parentheses.',
  input: z.object({ expression: z.string().min(1).max(500) }),
  execute: ({ expression }) => ({ expression, result: evaluate(expression) }),
});
