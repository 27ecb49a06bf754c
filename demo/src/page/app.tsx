import { useEffect, useLayoutEffect, useState } from 'react';
import { Conversation } from './conversation.tsx';
import { createDraft } from './draft.ts';
import { Header } from './header.tsx';
import { ModelDialog } from './model-dialog.tsx';
import { loadSettings, saveSettings, type ModelChoice, type Settings } from './settings.ts';
import { useSharedModel } from './use-shared-model.ts';
import { applyTheme } from './theme.ts';

export function App() {
  const [settings, setSettings] = useState(loadSettings);
  const [workerModel, setWorkerModel] = useSharedModel(settings.sessions.worker);
  const [edgeModel, setEdgeModel] = useState<ModelChoice>({ kind: 'offline' });
  const [choosing, setChoosing] = useState(false);
  const [draft] = useState(createDraft);
  const { home, theme } = settings;
  const model = home === 'worker' ? workerModel : edgeModel;
  const sessionId = settings.sessions[home];
  const change = (changes: Partial<Settings>): void =>
    setSettings((current) => ({ ...current, ...changes }));

  useEffect(() => saveSettings(settings), [settings]);
  useLayoutEffect(() => applyTheme(theme), [theme]);

  return (
    <div className="app">
      <Header
        home={home}
        model={model}
        onHome={(next) => change({ home: next })}
        onTheme={(next) => change({ theme: next })}
        onModel={() => setChoosing(true)}
        onNew={() => change({ sessions: { ...settings.sessions, [home]: crypto.randomUUID() } })}
      />
      <Conversation
        // A conversation's state must not outlive it.
        key={`${home}:${sessionId}`}
        home={home}
        sessionId={sessionId}
        model={model}
        draft={draft}
        onTheme={(next) => change({ theme: next })}
      />
      {choosing && (
        <ModelDialog
          home={home}
          model={model}
          endpoint={settings.endpoint}
          onClose={() => setChoosing(false)}
          onChoose={(chosen) => {
            (home === 'worker' ? setWorkerModel : setEdgeModel)(chosen);
            if (chosen.kind === 'endpoint')
              change({ endpoint: { baseURL: chosen.baseURL, model: chosen.model } });
          }}
        />
      )}
    </div>
  );
}
