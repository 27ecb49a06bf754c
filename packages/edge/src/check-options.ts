import { AgentError } from '@isoloop/core';
import { checkFields } from '@isoloop/core/adapter';
import { clientSettings } from './completions/model-settings.ts';
import { isOrigin } from './http/is-origin.ts';
import type { EdgeLimits, HandlerSettings, SessionOptions } from './handler-options.ts';

/**
 * Throws `CONFIGURATION` for invalid options that would otherwise have no effect. For example, a
 * limit that is not a number would limit nothing.
 */
export function checkOptions(settings: HandlerSettings): void {
  const { models, sessions, limits, cors, llm, store, memory } = settings;
  checkFields(
    'CONFIGURATION',
    'createAgentHandler',
    settings,
    'approvals:at-least-once|? models,clientSettings:array thinking:boolean ' +
      'secrets:array|function|? cors:array|?',
  );
  if (!models.length)
    throw new AgentError('CONFIGURATION', '`models` is empty: name at least one model.');
  if (store && memory) throw wrong('give either store or memory');
  if (store !== undefined && typeof Object(store).setMany !== 'function')
    throw wrong('store must be a KeyValueStore, such as unstorageStore(driver)');
  if (!settings.clientSettings.every((name) => clientSettings.includes(name)))
    throw wrong(`clientSettings can only have ${clientSettings.join(', ')}`);
  checkSessions(sessions);
  checkLimits(limits);
  checkOrigins(cors);
  if (llm !== undefined && typeof Object(llm).routes !== 'function')
    throw wrong('llm must be llmProxy({ … }) of @isoloop/edge/llm');
}

/**
 * Maximum of `sessions.heartbeatMs`, in milliseconds. The runtime puts a Durable Object to sleep
 * after about a minute without events.
 */
const maxHeartbeatMs = 60_000;

function checkSessions({
  resumeAttempts,
  expireAfterMs,
  heartbeatMs,
  queuedTurns,
}: SessionOptions): void {
  for (const [name, value] of Object.entries({ resumeAttempts, queuedTurns })) {
    if (!(Number.isInteger(value) && value >= 0))
      throw wrong(`sessions.${name} must be a whole number of 0 or more`);
  }
  if (!(expireAfterMs > 0)) throw wrong('sessions.expireAfterMs must be a number above 0');
  if (!(heartbeatMs > 0 && heartbeatMs <= maxHeartbeatMs)) {
    throw wrong(`sessions.heartbeatMs must be a number above 0, at most ${maxHeartbeatMs}`);
  }
}

function checkLimits(limits: EdgeLimits): void {
  for (const [name, limit] of Object.entries(limits)) {
    // With `afterDisconnectMs: 0`, a turn ends when its client disconnects.
    if (
      !(typeof limit === 'number' && (limit > 0 || (limit === 0 && name === 'afterDisconnectMs')))
    ) {
      throw wrong(`limits.${name} must be a number above 0`);
    }
  }
}

/**
 * Throws for an origin that is not in the form that browsers send, because such an origin would
 * never match.
 */
function checkOrigins(origins: readonly string[] = []): void {
  for (const origin of origins as readonly unknown[]) {
    if (typeof origin === 'string' && isOrigin(origin)) continue;
    throw wrong(`cors has ${JSON.stringify(origin)}; ${adviceFor(String(origin))}`);
  }
}

function adviceFor(origin: string): string {
  if (origin.includes('*')) return 'list each origin, such as "https://example.com"';
  const meant = [origin, `https://${origin}`]
    .map((text) => (URL.canParse(text) ? new URL(text).origin : ''))
    .find(isOrigin);
  return `write an origin, such as "${meant ?? 'https://example.com'}"`;
}

function wrong(what: string): AgentError {
  return new AgentError('CONFIGURATION', `createAgentHandler: ${what}.`);
}
