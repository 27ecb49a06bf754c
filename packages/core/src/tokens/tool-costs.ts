import type { ToolCosts } from './token-profile.ts';

/**
 * Costs for OpenAI, Gemini and Kimi, whose models get tool definitions in a shorter form than JSON.
 */
export const compactTools: ToolCosts = { once: 20, each: 6, factor: 0.95 };

/** Costs for models that get tool definitions as JSON. */
export const jsonTools: ToolCosts = { once: 60, each: 30, factor: 1.25 };

/** Costs for Claude. `once` includes the instructions for using tools that Claude's server adds. */
export const claudeTools: ToolCosts = { once: 410, each: 30, factor: 1.25 };
