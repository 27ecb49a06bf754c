import { withMethod } from '../error/options/kinds.ts';
import type { Kind } from '../error/options/option-table.ts';
import type { ChatModel } from './chat-model.ts';

/** A `ChatModel`. */
export const chatModel: Kind<ChatModel> = withMethod(
  'stream',
  "a model such as openai({ model: 'gpt-5' })",
);
