import {
  defineInspector,
  endpointSource,
  workerSource,
  type InspectorSessionDetail,
  type ReplayAgent,
} from '@isoloop/inspector';
import { createElement, useMemo } from 'react';
import { contextWindow, offlineWindow } from '../context-window.ts';
import { edgeModelOf } from './agent-source.ts';
import { pageParts } from './page-parts.ts';
import type { Home, ModelChoice } from './settings.ts';

export interface InspectorDockProps {
  readonly home: Home;
  readonly sessionId: string;
  readonly model: ModelChoice;
  readonly worker: Worker;
  /** Shows another conversation. */
  readonly onOpen: (sessionId: string) => void;
  readonly onClose: () => void;
}

defineInspector();

/** Shows the inspector of the conversation at the bottom of the page. */
export function InspectorDock(props: InspectorDockProps) {
  const { home, sessionId, model, worker, onOpen, onClose } = props;
  const source = useMemo(
    () =>
      home === 'worker'
        ? workerSource(worker, { options: { ...model }, page: pageParts(model) })
        : endpointSource('/api/chat', { model: edgeModelOf(model) }),
    [home, model, worker],
  );
  return (
    <aside className="dock" aria-label="Inspector">
      <h2>
        Inspector <span className="muted">what the loop did, and what the model saw</span>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </h2>
      {createElement('isoloop-inspector', {
        source,
        sessionId,
        replayAgent,
        contextWindow: model.kind === 'offline' ? offlineWindow : contextWindow,
        'onisoloop-session': ({ detail }: CustomEvent<InspectorSessionDetail>) =>
          onOpen(detail.sessionId),
      })}
    </aside>
  );
}

/** Replays run the middleware of the demo. Its tools do not run, so they need no stores. */
const replayAgent: ReplayAgent = async ({ sessionId, memory, model }) => {
  const { demoAgent } = await import('../demo-agent.ts');
  const none = { read: async () => [], write: async () => {} };
  const account = { read: async () => undefined, write: async () => {} };
  return demoAgent({ sessionId, memory, model, notes: none, account, pace: 'fast' });
};
