import { AgentError } from '@isoloop/core';
import { checkOptions } from '@isoloop/core/error';
import { isOrigin } from './http/cross-origin.ts';
import { missingOption } from './http/missing-option.ts';
import {
  defaultLimits,
  type EdgeLimits,
  type HandlerSettings,
  type SessionOptions,
} from './handler-options.ts';

/**
 * Throws `CONFIGURATION` for invalid options that would otherwise have no effect. For example, a
 * limit that is not a number would limit nothing.
 */
export function checkSettings(settings: HandlerSettings): void {
  const { models, sessions, limits, cors, store } = settings;
  if (store && !store.open) {
    const message = missingOption('Conversations in a store need', 'store', 'storeSessions(store)');
    throw new AgentError('CONFIGURATION', message);
  }
  checkOptions(where, settings, fields);
  if (!models.length) throw optionError('`models` is empty: name at least one model');
  checkSessions(sessions);
  checkLimits(limits);
  checkOrigins(cors);
}

const where = 'createAgentHandler()';

/** Fields of `HandlerSettings` for `checkOptions`. */
const fields =
  'agent:function authorize,inspect,memory,rateLimit:function|? cors,models:array|? ' +
  'store,kv:open()|? events:boolean|? systemMessages:as-user|keep|? ' +
  'approvals:at-least-once|? limits,sessions:object|? secrets:array|function|? openai,llm,moves,operator:routes()|?';

/**
 * Maximum of `sessions.heartbeatMs`, in milliseconds. The runtime puts a Durable Object to sleep
 * after about a minute without events.
 */
const maxHeartbeatMs = 60_000;

const sessionFields = 'resumeAttempts,queuedTurns:whole expireAfterMs,heartbeatMs:positive';

function checkSessions(sessions: SessionOptions): void {
  checkOptions(`${where}: sessions`, sessions, sessionFields);
  if (sessions.heartbeatMs > maxHeartbeatMs)
    throw optionError(`sessions.heartbeatMs must be at most ${maxHeartbeatMs}`);
}

function checkLimits(limits: EdgeLimits): void {
  const { afterDisconnectMs: _, ...positive } = defaultLimits;
  // With `afterDisconnectMs: 0`, a turn ends when its client disconnects.
  const limitFields = `${Object.keys(positive).join()}:positive afterDisconnectMs:nonNegative`;
  checkOptions(`${where}: limits`, limits, limitFields);
}

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
