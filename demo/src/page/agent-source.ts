import { agentWorker } from '@isoloop/web-worker';
import { agentEndpoint, type AgentSource } from '@isoloop/react';
import { pageParts } from './page-parts.ts';
import type { Home, ModelChoice } from './settings.ts';

export interface SourceOptions {
  readonly home: Home;
  readonly model: ModelChoice;
  /** The worker of this tab. */
  readonly worker: Worker;
}

/** Returns where the agent runs. The worker gets the model in the options of its connection. */
export function agentSource({ home, model, worker }: SourceOptions): AgentSource {
  if (home === 'worker')
    return agentWorker(worker, { options: { ...model }, page: pageParts(model) });
  return agentEndpoint('/api/chat', { body: { model: edgeModelOf(model) } });
}

export function edgeModelOf(model: ModelChoice): string {
  if (model.kind === 'edge') return 'edge';
  return model.kind === 'offline' && model.pace === 'real' ? 'offline-real-pace' : 'offline';
}
