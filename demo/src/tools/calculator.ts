import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';
import type { AroundTool } from './around-tool.ts';
import { evaluate } from './evaluate.ts';

export function calculator(around: AroundTool): Tool {
  return tool({
    name: 'calculator',
    description: 'Works out an arithmetic expression: numbers, + - * / % ^ and parentheses.',
    input: z.object({ expression: z.string().min(1).max(500) }),
    replay: 'safe',
    execute: ({ expression }, context) =>
      around(context, () => ({ expression, result: evaluate(expression) })),
  });
}
