import { useCallback, useEffect, useLayoutEffect, useState } from 'react';
import { Conversation } from './conversation.tsx';
import { createDraft } from './draft.ts';
import { Header } from './header.tsx';
import { Inspector } from './inspector.tsx';
import { LockedConversation } from './locked-conversation.tsx';
import { ModelDialog } from './model-dialog.tsx';
import { MovingConversation } from './moving-conversation.tsx';
import { MoveNotice } from './notices.tsx';
import { loadSettings, saveSettings, type Settings } from './settings.ts';
import { createShownMessages } from './shown-messages.ts';
import { useSharedModel } from './use-shared-model.ts';
import { frameName, TwoTabs } from './two-tabs.tsx';
import { useAgentWorker } from './use-agent-worker.ts';
import { useMove } from './use-move.ts';
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
  const [shown] = useState(createShownMessages);
  const [first, setFirst] = useState<string>();
  const onFirst = useCallback(() => setFirst(undefined), []);
  const [hasTabs, setHasTabs] = useState(false);
  const [isInspecting, setIsInspecting] = useState(false);
  const agentWorker = useAgentWorker();
  const isFrame = frameName() !== undefined;
  const { home, theme } = settings;
  const model = home === 'worker' ? workerModel : edgeModel;
  const sessionId = settings.sessions[home];
  const change = (changes: Partial<Settings>): void =>
    setSettings((current) => ({ ...current, ...changes }));

  const move = useMove(settings, change);
  useEffect(
    () => saveSettings({ ...settings, models: { worker: workerModel, edge: edgeModel } }),
    [settings, workerModel, edgeModel],
  );
  useLayoutEffect(() => applyTheme(theme), [theme]);

  const open = (id: string = crypto.randomUUID(), question?: string): void => {
    setFirst(question);
    change({ sessions: { ...settings.sessions, [home]: id } });
  };
  const setModel = home === 'worker' ? setWorkerModel : setEdgeModel;

  const panels = isFrame
    ? {}
    : { onTabs: () => setHasTabs(true), onInspect: () => setIsInspecting(!isInspecting) };
  if (hasTabs) {
    return (
      <div className="app">
        <TwoTabs onClose={() => setHasTabs(false)} />
      </div>
    );
  }
  return (
    <div className={isFrame ? 'app frame' : 'app'}>
      {!isFrame && (
        <a className="skip" href="#question">
          Write a message
        </a>
      )}
      {!isFrame && (
        <Header
          home={move.chosen}
          model={model}
          onHome={move.go}
          onTheme={(next) => change({ theme: next })}
          onModel={() => setChoosing(true)}
          onNew={() => open()}
        />
      )}
      {move.error && <MoveNotice error={move.error} />}
      {move.isMoving && (
        <MovingConversation home={home} sessionId={sessionId} shown={shown} draft={draft} />
      )}
      {!move.isMoving && model.kind === 'locked' && (
        <LockedConversation
          key={sessionId}
          sessionId={sessionId}
          model={model.model}
          draft={draft}
          onModel={() => setChoosing(true)}
        />
      )}
      {!move.isMoving && model.kind !== 'locked' && (
        <Conversation
          // A conversation's state must not outlive it.
          key={`${home}:${sessionId}`}
          home={home}
          sessionId={sessionId}
          model={model}
          draft={draft}
          shown={shown}
          agentWorker={agentWorker}
          onTheme={(next) => change({ theme: next })}
          onModel={setModel}
          onDialog={() => setChoosing(true)}
          first={first}
          onFirst={onFirst}
          onOpen={open}
          onError={move.follow}
          {...panels}
        />
      )}
      <Inspector
        isOpen={isInspecting}
        home={home}
        sessionId={sessionId}
        model={model}
        worker={agentWorker.worker}
        onOpen={open}
        onClose={() => setIsInspecting(false)}
      />
      {choosing && (
        <ModelDialog
          home={home}
          model={model}
          endpoint={settings.endpoint}
          onClose={() => setChoosing(false)}
          onChoose={(chosen) => {
            setModel(chosen);
            if (chosen.kind === 'endpoint')
              change({
                endpoint: { baseURL: chosen.baseURL, model: chosen.model, api: chosen.api },
              });
          }}
        />
      )}
    </div>
  );
}
