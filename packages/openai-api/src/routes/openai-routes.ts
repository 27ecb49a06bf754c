import { AgentError } from '@isoloop/core';
import {
  checkOptions,
  array,
  optional,
  boolean,
  func,
  type OptionTable,
} from '@isoloop/core/options';
import { answerEncoder, wholeAnswer, type OpenAiFormat } from '../request/completion-answer.ts';
import { readCall } from '../request/completion-call.ts';
import { clientSettings } from '../request/model-settings.ts';
import type { OpenAiRoutesOptions, OpenAiSettings } from '../request/openai-options.ts';
import { formatOfTurn, unknownResponseError } from './response-id.ts';
import { completionsRoute } from './completions-route.ts';
import { hasOutput, modelsRoute, type OpenAiRoutes, type TurnFormat } from '@isoloop/edge/api';
import { prepareTurn } from './prepare-turn.ts';
import { noStoredResponse, responsesRoute } from './responses-route.ts';

/**
 * Serves OpenAI's clients: adds `POST /v1/chat/completions`, `POST /v1/responses` and
 * `GET /v1/models` to an endpoint. Throws `CONFIGURATION` for an unknown setting.
 *
 * @example
 * createAgentHandler<Env>({ agent, authorize, openai: openAiRoutes() });
 */
export function openAiRoutes(options: OpenAiRoutesOptions = {}): OpenAiRoutes {
  checkOptions('openAiRoutes()', options, openAiRoutesOptions);
  const openAi: OpenAiSettings = {
    clientSettings: ['maxTokens', 'temperature'],
    strict: false,
    thinking: true,
    loggedFields: new Set(),
    ...options,
  };
  if (!openAi.clientSettings.every((name) => clientSettings.includes(name)))
    throw new AgentError(
      'CONFIGURATION',
      `openAiRoutes(): clientSettings can only have ${clientSettings.join(', ')}.`,
    );
  return {
    routes: {
      '/v1/chat/completions': {
        POST: (c, settings) => completionsRoute(c, settings, openAi),
      },
      '/v1/responses': { POST: (c, settings) => responsesRoute(c, settings, openAi) },
      '/v1/responses/:id/:part?': {
        enter: 'anyone',
        GET: noStoredResponse,
        POST: noStoredResponse,
        DELETE: noStoredResponse,
      },
      '/v1/models': { GET: (_c, settings) => modelsRoute(settings) },
    },
    readCall: (body, settings) => readCall(body, settings, openAi),
    format: (requested) => turnFormat(requested as OpenAiFormat),
    prepare: prepareTurn,
    unknownResponseError,
  };
}

const openAiRoutesOptions: OptionTable<OpenAiRoutesOptions> = {
  clientSettings: optional(array),
  strict: optional(boolean),
  thinking: optional(boolean),
  jsonSchema: optional(func),
};

/** Returns how a client of this API gets a turn. */
function turnFormat(format: OpenAiFormat): TurnFormat {
  const streamed: TurnFormat = {
    kind: format.kind,
    errorFormat: 'openai',
    opens: hasOutput,
    encoder: async (live) => {
      if (!live) return answerEncoder(format, undefined);
      return answerEncoder(await formatOfTurn(live, format), live.call);
    },
  };
  if (format.stream) return streamed;
  return {
    ...streamed,
    wholeAnswer: async (live, headers) => {
      const result = await live.stream.result;
      return wholeAnswer(result, await formatOfTurn(live, format), headers);
    },
  };
}
