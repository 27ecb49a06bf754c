import { tool, type Tool } from '@isoloop/core';

const input = { type: 'object' } as const;

export const clock: Tool = tool({
  name: 'clock',
  description: 'The time',
  input,
  execute: () => '12:00',
});

export const echo: Tool = tool({
  name: 'echo',
  description: 'Gives back',
  input,
  execute: () => 'echo',
});

export const pay: Tool = tool({
  name: 'pay',
  description: 'Pays',
  input,
  needsApproval: true,
  execute: () => 'paid',
});
