import { agentEndpoint, type AgentSource } from '@isoloop/web-worker/react';
import type { Home, ModelChoice } from './settings.ts';

const worker = new Worker(new URL('../agent.worker.ts', import.meta.url), { type: 'module' });

/** Returns where the agent runs. The worker gets the model in the options of its connection. */
export function agentSource(home: Home, model: ModelChoice): AgentSource {
  if (home === 'worker') return worker;
  const name = model.kind === 'edge' ? 'edge' : 'offline';
  return agentEndpoint('/api/chat', { body: { model: name } });
}
