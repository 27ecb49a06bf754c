// Answers `useChat` as AI SDK's documentation shows. The client sends the whole history.
import { createOpenAI } from '@ai-sdk/openai';
import { convertToModelMessages, streamText } from 'ai';
import { seenTurns, system } from '../plan.mjs';

export const app = {
  async fetch(request, env) {
    if (request.headers.get('authorization') !== `Bearer ${env.TOKEN}`)
      return new Response(null, { status: 401 });
    const { messages, model } = await request.json();
    const result = streamText({
      model: createOpenAI({ baseURL: `${env.WORLD}/${model}/v1`, apiKey: 'x' }).chat(model),
      instructions: system,
      messages: await convertToModelMessages(messages.slice(-1 - 2 * seenTurns)),
    });
    return result.toUIMessageStreamResponse();
  },
};
