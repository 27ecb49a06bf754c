import type { ChatModel } from '@isoloop/core';
import * as dashscopes from '@isoloop/core/dashscope';
import * as openais from '@isoloop/core/openai';
import * as responses from '@isoloop/core/responses';
import type { HttpModelOptions } from '../../packages/core/src/model/http/http-model.ts';
import type { RequestWire } from '../request-rules/broken-rules.ts';
import { chatCompletions, dashScopeWire, responsesWire, type WireFormat } from './wire-formats.ts';

/** A function that creates models over HTTP. */
export interface HttpProvider {
  readonly name: string;
  readonly model: (options: HttpModelOptions) => ChatModel;
  /** Entry of the package, and what it exports. */
  readonly entry: string;
  readonly exports: object;
  /** Path that the model adds to the base URL. */
  readonly path: string;
  /** Path at the end of most base URLs of the API. */
  readonly api: string;
  /** Format of the replies. */
  readonly wire: WireFormat;
  /** Format whose published rules the requests keep. */
  readonly rules: RequestWire;
}

/** All functions that create models over HTTP. What they share is tested for each row. */
export const httpProviders: readonly HttpProvider[] = [
  {
    name: 'openai',
    model: openais.openai,
    entry: './openai',
    exports: openais,
    path: '/chat/completions',
    api: '/v1',
    wire: chatCompletions,
    rules: 'chat-completions',
  },
  {
    name: 'openaiResponses',
    model: responses.openaiResponses,
    entry: './responses',
    exports: responses,
    path: '/responses',
    api: '/v1',
    wire: responsesWire,
    rules: 'responses',
  },
  {
    name: 'dashscope',
    model: dashscopes.dashscope,
    entry: './dashscope',
    exports: dashscopes,
    path: '/services/aigc/text-generation/generation',
    api: '/api/v1',
    wire: dashScopeWire,
    rules: 'dashscope',
  },
];
