import { tool, type Tool } from '@isoloop/core';

const input = { type: 'object' } as const;

export const look: Tool = tool({
  name: 'look',
  description: '',
  input,
  execute: () => 'seen',
});

export const pay: Tool = tool({
  name: 'pay',
  description: '',
  input,
  needsApproval: true,
  execute: () => 'paid',
});
