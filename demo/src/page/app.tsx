import { useEffect, useLayoutEffect, useState } from 'react';
import { Conversation } from './conversation.tsx';
import { createDraft } from './draft.ts';
import { Header } from './header.tsx';
import { LockedConversation } from './locked-conversation.tsx';
import { ModelDialog } from './model-dialog.tsx';
import { loadSettings, saveSettings, type Settings } from './settings.ts';
import { useSharedModel } from './use-shared-model.ts';
import { applyTheme } from './theme.ts';

export function App() {
  const [settings, setSettings] = useState(loadSettings);
  const [workerModel, setWorkerModel] = useSharedModel(
    settings.sessions.worker,
    settings.models.worker,
  );
  const [edgeModel, setEdgeModel] = useState(settings.models.edge);
  const [choosing, setChoosing] = useState(false);
  const [draft] = useState(createDraft);
  const { home, theme } = settings;
  const model = home === 'worker' ? workerModel : edgeModel;
  const sessionId = settings.sessions[home];
  const change = (changes: Partial<Settings>): void =>
    setSettings((current) => ({ ...current, ...changes }));

  useEffect(
    () => saveSettings({ ...settings, models: { worker: workerModel, edge: edgeModel } }),
    [settings, workerModel, edgeModel],
  );
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
      {model.kind === 'locked' ? (
        <LockedConversation
          key={sessionId}
          sessionId={sessionId}
          model={model.model}
          draft={draft}
          onModel={() => setChoosing(true)}
        />
      ) : (
        <Conversation
          // A conversation's state must not outlive it.
          key={`${home}:${sessionId}`}
          home={home}
          sessionId={sessionId}
          model={model}
          draft={draft}
          onTheme={(next) => change({ theme: next })}
        />
      )}
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
