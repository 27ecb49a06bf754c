import type { ChatModel } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { openaiResponses } from '@isoloop/core/responses';

/** A model at an OpenAI-compatible endpoint. */
export interface Endpoint {
  /** Base of the address, such as `http://127.0.0.1:11434/v1`. */
  readonly baseURL: string;
  /** Name of the model. */
  readonly model: string;
  /** Empty if the server needs no key. */
  readonly apiKey: string;
  /** Which of OpenAI's two interfaces to use. */
  readonly api: 'responses' | 'chat';
}

/** Returns the model of an endpoint that a user has chosen. */
export function endpointModel({ baseURL, model, apiKey, api }: Endpoint): ChatModel {
  const options = { baseURL, model, ...(apiKey ? { apiKey } : {}) };
  return api === 'responses' ? openaiResponses(options) : openai(options);
}
