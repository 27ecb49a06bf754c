import type { ReActAgent } from '@isoloop/core';
import { createAgentHandler, type AgentHandler } from '../src/handler/agent-handler.ts';
import { kvSessions } from '../src/kv/index.ts';
import { openAiRoutes } from '@isoloop/openai-api';
import { sessionMoves } from '../src/move/index.ts';
import { operatorDesk } from '../src/operator/index.ts';
import type { AgentSetup, SessionAgent, SessionOptions } from '../src/settings/handler-options.ts';
import type { RowCounter } from './row-counter.ts';

export interface SessionEnv {
  readonly CHAT_KV: KVNamespace;
  readonly TEST_SESSIONS: DurableObjectNamespace;
  readonly BRIEF_SESSIONS: DurableObjectNamespace;
}

/**
 * Agent factories by session id. A test registers a factory, and the session's Durable Object uses
 * it.
 */
export const factories: Map<string, (setup: AgentSetup<SessionEnv>) => ReActAgent | SessionAgent> =
  new Map();

export const sessions: AgentHandler<SessionEnv> = handler({});
export const briefSessions: AgentHandler<SessionEnv> = handler({
  resumeAttempts: 0,
  expireAfterMs: 3_600_000,
  queuedTurns: 2,
});

/** Row counters by the id of a Durable Object. A test adds a counter before the object starts. */
export const rowCounters: Map<string, RowCounter> = new Map();

/** With this secret, the objects sign copies of sessions. */
const signing = { SESSION_SECRET: 'x'.repeat(32) };

export class TestSession extends sessions.Session {
  constructor(ctx: DurableObjectState, env: SessionEnv) {
    super(counted(ctx), { ...boundTo(env, env.TEST_SESSIONS), ...signing });
  }
}

export class BriefSession extends briefSessions.Session {
  constructor(ctx: DurableObjectState, env: SessionEnv) {
    super(counted(ctx), boundTo(env, env.BRIEF_SESSIONS));
  }
}

function counted(ctx: DurableObjectState): DurableObjectState {
  return rowCounters.get(String(ctx.id))?.counted(ctx) ?? ctx;
}

/**
 * Adds a binding of Durable Objects for sessions. Without this binding, an endpoint stores sessions
 * in KV.
 */
export function boundTo(env: SessionEnv, objects: DurableObjectNamespace): SessionEnv {
  return { ...env, CHAT_SESSION: objects } as SessionEnv;
}

function handler(options: Partial<SessionOptions>): AgentHandler<SessionEnv> {
  return createAgentHandler<SessionEnv>({
    models: ['offline', 'other'],
    kv: kvSessions(),
    openai: openAiRoutes(),
    agent: (setup) => factories.get(setup.sessionId)!(setup),
    authorize: (request) => {
      const user = request.headers.get('authorization')?.replace('Bearer ', '');
      return user ? { user, mayEdit: !user.startsWith('reader-') } : null;
    },
    limits: { bodyBytes: 8 * 1024 * 1024 },
    sessions: options,
    moves: sessionMoves(),
    inspect: ({ user, mayEdit }) => user.startsWith('dev-') && mayEdit === true,
    operator: operatorDesk({ authorize: () => null }),
  });
}
