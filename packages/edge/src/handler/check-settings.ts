import { AgentError } from '@isoloop/core';
import {
  checkOptions,
  func,
  optional,
  array,
  withMethod,
  boolean,
  oneOf,
  object,
  either,
  whole,
  nonNegative,
  positive,
  type Kind,
  type OptionTable,
  type OtherNames,
} from '@isoloop/core/options';
import { isOrigin } from '../http/cross-origin.ts';
import type { EndpointPart } from '../settings/endpoint-part.ts';
import type { OpenAiRoutes } from '../settings/openai-part.ts';
import { missingOption } from '../settings/missing-option.ts';
import type { EdgeLimits, HandlerSettings, SessionOptions } from '../settings/handler-options.ts';

/**
 * Throws `CONFIGURATION` for invalid options that would otherwise have no effect. For example, a
 * limit that is not a number would limit nothing.
 */
export function checkSettings(settings: HandlerSettings): void {
  const { models, sessions, limits, cors, store } = settings;
  if (store && !store.open) {
    const message = missingOption('Conversations in a store need', {
      option: 'store',
      call: 'storeSessions(store)',
      from: '@isoloop/edge/store',
    });
    throw new AgentError('CONFIGURATION', message);
  }
  checkOptions(where, settings, handlerSettings, 'CONFIGURATION', otherNames);
  if (!models.length) throw optionError('`models` is empty: name at least one model');
  checkSessions(sessions);
  checkOptions(`${where}: limits`, limits, limitOptions);
  checkOrigins(cors);
}

const where = 'createAgentHandler()';

const handlerSettings: OptionTable<HandlerSettings> = {
  agent: func,
  authorize: optional(func),
  inspect: optional(func),
  memory: optional(func),
  rateLimit: optional(func),
  cors: optional(array),
  models: optional(array),
  store: optional(withMethod('open')),
  kv: optional(withMethod('open')),
  events: optional(boolean),
  systemMessages: optional(oneOf('as-user', 'keep')),
  approvals: optional(oneOf('at-least-once')),
  limits: optional(object),
  sessions: optional(object),
  secrets: optional(either(array, func)),
  openai: optional(madeBy<OpenAiRoutes>('openAiRoutes()')),
  llm: optional(madeBy('llmProxy()')),
  moves: optional(madeBy('sessionMoves()')),
  operator: optional(madeBy('operatorDesk()')),
};

/** Returns the kind of what a feature adds to an endpoint. `call`: function that creates it. */
function madeBy<P extends EndpointPart = EndpointPart>(call: string): Kind<P> {
  return { words: `the result of ${call}`, test: (value) => 'routes' in Object(value) };
}

/** Names that other libraries use for these options. */
const otherNames: OtherNames<HandlerSettings> = {
  agent: ['createAgent', 'agents'],
  authorize: ['auth', 'authenticate', 'authorization', 'getUser', 'onRequest'],
  cors: ['origins', 'allowedOrigins'],
  inspect: ['inspector'],
  'moves: sessionMoves()': ['move'],
};

/**
 * Maximum of `sessions.heartbeatMs`, in milliseconds. The runtime puts a Durable Object to sleep
 * after about a minute without events.
 */
const maxHeartbeatMs = 60_000;

const sessionOptions: OptionTable<SessionOptions> = {
  resumeAttempts: whole,
  queuedTurns: whole,
  expireAfterMs: positive,
  heartbeatMs: positive,
};

function checkSessions(sessions: SessionOptions): void {
  checkOptions(`${where}: sessions`, sessions, sessionOptions);
  if (sessions.heartbeatMs > maxHeartbeatMs)
    throw optionError(`sessions.heartbeatMs must be at most ${maxHeartbeatMs}`);
}

const limitOptions: OptionTable<EdgeLimits> = {
  bodyBytes: positive,
  messages: positive,
  toolResultChars: positive,
  outputTokens: positive,
  // With 0, a turn ends when its client disconnects.
  afterDisconnectMs: nonNegative,
  keepAliveMs: positive,
};

/**
 * Throws for an origin that is not in the form that browsers send, because such an origin would
 * never match.
 */
function checkOrigins(origins: readonly string[] = []): void {
  for (const origin of origins as readonly unknown[]) {
    if (typeof origin === 'string' && isOrigin(origin)) continue;
    const text = JSON.stringify(origin);
    throw optionError(
      `cors has ${text}; list each origin without a path, such as "https://example.com"`,
    );
  }
}

function optionError(what: string): AgentError {
  return new AgentError('CONFIGURATION', `${where}: ${what}.`);
}
