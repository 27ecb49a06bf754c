import { tool } from '@isoloop/core';
import type OpenAI from 'openai';

export type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
export type Message = OpenAI.ChatCompletionMessageParam;

/** The tool that the client itself runs. */
export const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
export const question: Message = { role: 'user', content: 'Is it raining in 서울?' };
/** Names of the agent's tools that ran, in order. A test empties it. */
export const ran: string[] = [];
export const clock = tool({
  name: 'clock',
  description: 'The time',
  input: { type: 'object' },
  execute: () => (ran.push('clock'), '12:00'),
});

let sessions = 0;
/** Returns the header that names a session which no other test has. */
export const newSession = (): Record<string, string> => ({
  'x-isoloop-session': `s${++sessions}-${crypto.randomUUID()}`,
});
