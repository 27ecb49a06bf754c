import type { ToolCosts } from './token-profile.ts';

/** OpenAI, Gemini, Kimi: definitions in a shorter form than JSON. */
export const compactTools: ToolCosts = { once: 20, each: 6, factor: 0.95 };

export const jsonTools: ToolCosts = { once: 60, each: 30, factor: 1.25 };

/** Claude's costs, with instructions for using tools. */
export const claudeTools: ToolCosts = { once: 410, each: 30, factor: 1.25 };
