import type { ChatModel } from '../src/model/chat-model.ts';
import type { HttpModelOptions } from '../src/model/http/http-request.ts';
import { dashscope } from '../src/dashscope.ts';
import { openai, openaiResponses } from '../src/openai.ts';
import { chatCompletions, dashScopeWire, responsesWire, type WireFormat } from './wire-formats.ts';

/** A provider of models over HTTP. */
export interface HttpProviderRow {
  readonly name: string;
  /** Creates a model of the provider. */
  readonly model: (options: HttpModelOptions) => ChatModel;
  /** Path that the model adds to the base URL. */
  readonly path: string;
  /** Path at the end of most base URLs of the API. */
  readonly api: string;
  /** Format of the replies. */
  readonly wire: WireFormat;
}

/** All providers of models over HTTP. Tests of what they share run for each row. */
export const httpProviders: readonly HttpProviderRow[] = [
  {
    name: 'openai()',
    model: openai,
    path: '/chat/completions',
    api: '/v1',
    wire: chatCompletions,
  },
  {
    name: 'openaiResponses()',
    model: openaiResponses,
    path: '/responses',
    api: '/v1',
    wire: responsesWire,
  },
  {
    name: 'dashscope()',
    model: dashscope,
    path: '/services/aigc/text-generation/generation',
    api: '/api/v1',
    wire: dashScopeWire,
  },
];
