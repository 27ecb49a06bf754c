import { AgentError, type Memory } from '@isoloop/core';
import {
  checkOptions,
  array,
  optional,
  boolean,
  func,
  type OptionTable,
} from '@isoloop/core/error';
import {
  answerEncoder,
  wholeAnswer,
  type OpenAiFormat,
} from '../../completions/completion-answer.ts';
import { readCall, type CompletionCall } from '../../completions/completion-call.ts';
import { clientSettings } from '../../completions/model-settings.ts';
import type { OpenAiRoutesOptions, OpenAiSettings } from '../../completions/openai-options.ts';
import type { HandlerSettings, SettingsRoute } from '../../handler-options.ts';
import type { Route } from '../../http/endpoint.ts';
import type { RequestBody } from '../../http/request-body.ts';
import type { LiveTurn } from '../../session/live-turn.ts';
import { formatOfTurn, unknownResponseError } from '../../session/response-id.ts';
import type { EncodeBatch } from '../../turn/event-stream.ts';
import type { SessionTurnRequest } from '../../session/session-turn.ts';
import { completionsRoute } from './completions-route.ts';
import { modelsRoute } from './models-route.ts';
import { prepareTurn } from './openai-turn.ts';
import { noStoredResponse, responsesRoute } from './responses-route.ts';

/** OpenAI's API at `/v1`, for the option `openai` of `createAgentHandler`. */
export interface OpenAiRoutes {
  /** Returns the routes by path and method. */
  readonly routes: (
    protect: (route: SettingsRoute) => Route,
  ) => Readonly<Record<string, Readonly<Record<string, Route>>>>;
  /** Reads the settings for an answer from the fields that a queued turn stores. */
  readonly readCall: (fields: RequestBody, settings: HandlerSettings) => CompletionCall;
  /** Returns the response with the answer of a turn that has ended. */
  readonly wholeResponse: (
    live: LiveTurn,
    format: OpenAiFormat,
    headers: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** Creates an encoder for a streamed answer. Without a turn, the stream has only an error. */
  readonly encoder: (live: LiveTurn | undefined, format: OpenAiFormat) => Promise<EncodeBatch>;
  /** Prepares a session for a turn, and returns the request for the agent. See `prepareTurn`. */
  readonly prepare: (
    memory: Memory,
    request: SessionTurnRequest,
    settings: HandlerSettings,
  ) => Promise<SessionTurnRequest>;
  /** Creates the error for a turn that continues from a response that is not stored. */
  readonly unknownResponseError: () => AgentError;
}

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
    routes: (protect) => ({
      '/v1/chat/completions': {
        POST: protect((c, settings) => completionsRoute(c, settings, openAi)),
      },
      '/v1/responses': { POST: protect((c, settings) => responsesRoute(c, settings, openAi)) },
      '/v1/responses/:id/:part?': {
        GET: noStoredResponse,
        POST: noStoredResponse,
        DELETE: noStoredResponse,
      },
      '/v1/models': { GET: protect((_c, settings) => modelsRoute(settings)) },
    }),
    readCall: (body, settings) => readCall(body, settings, openAi),
    wholeResponse: async (live, format, headers) =>
      wholeAnswer(await live.stream.result, await formatOfTurn(live, format), headers),
    encoder: async (live, format) => {
      if (!live) return answerEncoder(format, undefined);
      return answerEncoder(await formatOfTurn(live, format), live.call);
    },
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
