import { AgentError } from '@isoloop/core';
import type { EdgeLimits, HandlerSettings, SessionOptions } from './handler-options.ts';

/**
 * Throws `CONFIGURATION` for what would be passed over in silence: a limit that is no number limits
 * nothing.
 */
export function checkOptions({ models, sessions, limits, cors, llm }: HandlerSettings): void {
  if (!models.length)
    throw new AgentError('CONFIGURATION', '`models` is empty: name at least one model.');
  checkSessions(sessions);
  checkLimits(limits);
  checkOrigins(cors);
  const { maxTokens = 1, timeoutMs = 1 } = llm ?? {};
  if (!(Number.isInteger(maxTokens) && maxTokens > 0))
    throw wrong('llm.maxTokens must be a whole number above 0');
  if (!(typeof timeoutMs === 'number' && timeoutMs > 0))
    throw wrong('llm.timeoutMs must be a number above 0');
}

/** An object without events is put to sleep after about a minute. */
const maxHeartbeatMs = 60_000;

function checkSessions({
  resumeAttempts,
  expireAfterMs,
  heartbeatMs,
  queuedTurns,
}: SessionOptions): void {
  for (const [name, value] of Object.entries({ resumeAttempts, queuedTurns })) {
    if (!(Number.isInteger(value) && value >= 0))
      throw wrong(`sessions.${name} must be a whole number, or 0`);
  }
  if (!(expireAfterMs > 0)) throw wrong('sessions.expireAfterMs must be a number above 0');
  if (!(heartbeatMs > 0 && heartbeatMs <= maxHeartbeatMs)) {
    throw wrong(`sessions.heartbeatMs must be a number above 0, at most ${maxHeartbeatMs}`);
  }
}

function checkLimits(limits: EdgeLimits): void {
  for (const [name, limit] of Object.entries(limits)) {
    // 0 is a client's turn that ends with its client.
    if (
      !(typeof limit === 'number' && (limit > 0 || (limit === 0 && name === 'afterDisconnectMs')))
    ) {
      throw wrong(`limits.${name} must be a number above 0`);
    }
  }
}

/** One that is written otherwise than browsers do would be nobody's. */
function checkOrigins(origins: readonly string[] = []): void {
  for (const origin of origins) {
    if (URL.canParse(origin) && new URL(origin).origin === origin && !origin.includes('*'))
      continue;
    throw wrong(`cors has ${JSON.stringify(origin)}, which is no origin as "https://example.com"`);
  }
}

function wrong(what: string): AgentError {
  return new AgentError('CONFIGURATION', `createAgentHandler: ${what}.`);
}
