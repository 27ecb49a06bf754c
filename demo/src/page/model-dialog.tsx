import { useEffect, useRef, useState, type FormEvent } from 'react';
import { edgeModels } from './edge-models.ts';
import { modelPresets, type ModelPreset } from './model-presets.ts';
import { offlineChoice, type Home, type ModelChoice, type Settings } from './settings.ts';

import { testConnection, type Connection } from './test-connection.ts';

export interface ModelDialogProps {
  readonly home: Home;
  readonly model: ModelChoice;
  readonly endpoint: Settings['endpoint'];
  readonly onClose: () => void;
  readonly onChoose: (model: ModelChoice) => void;
}

export function ModelDialog({ home, model, endpoint, onClose, onChoose }: ModelDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [kind, setKind] = useState(model.kind === 'locked' ? 'endpoint' : model.kind);
  const [baseURL, setBaseURL] = useState(endpoint.baseURL);
  const [name, setName] = useState(endpoint.model);
  const [api, setApi] = useState(endpoint.api);
  const [tested, setTested] = useState<Connection>();
  const [isTesting, setIsTesting] = useState(false);
  const [apiKey, setApiKey] = useState(model.kind === 'endpoint' ? model.apiKey : '');
  const [edgeHasModel, setEdgeHasModel] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    let current = true;
    if (home === 'edge')
      void edgeModels().then((models) => current && setEdgeHasModel(models.includes('edge')));
    return () => {
      current = false;
    };
  }, [home]);

  const chosenPreset = modelPresets.find((preset) => preset.baseURL === baseURL);
  const choosePreset = (preset: ModelPreset): void => {
    setBaseURL(preset.baseURL);
    setName(preset.model);
    setApi(preset.api);
    setTested(undefined);
  };
  const test = async (): Promise<void> => {
    setIsTesting(true);
    setTested(await testConnection(baseURL, apiKey.trim()));
    setIsTesting(false);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChoose(
      kind === 'endpoint'
        ? {
            kind,
            baseURL: baseURL.trim().replace(/\/+$/, ''),
            model: name.trim(),
            apiKey: apiKey.trim(),
            api,
          }
        : offlineOrEdge(kind),
    );
    // `close()` returns the focus to the element that had it before. Unmounting the dialog would
    // not.
    dialog.current?.close();
  };

  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id="dialog-title">
          {home === 'worker'
            ? 'Model for the agent in this tab'
            : 'Model for the agent at the edge'}
        </h2>
        <label className="choice">
          <input
            type="radio"
            name="kind"
            checked={kind === 'offline'}
            onChange={() => setKind('offline')}
          />
          <span>
            <strong>Offline rules</strong>
            <small>
              A rule-based stand-in for a language model; everything around it is real. No key, no
              network.
            </small>
          </span>
        </label>
        {home === 'worker' ? (
          <label className="choice">
            <input
              type="radio"
              name="kind"
              checked={kind === 'endpoint'}
              onChange={() => setKind('endpoint')}
            />
            <span>
              <strong>OpenAI-compatible endpoint</strong>
              <small>Any chat-completions server that allows requests from this page (CORS).</small>
            </span>
          </label>
        ) : (
          <label className="choice">
            <input
              type="radio"
              name="kind"
              disabled={!edgeHasModel}
              checked={kind === 'edge'}
              onChange={() => setKind('edge')}
            />
            <span>
              <strong>The edge’s model</strong>
              <small>
                {edgeHasModel
                  ? 'The model that OPENAI_MODEL names at the Worker. Its key never leaves the Worker.'
                  : 'No model is set. Set OPENAI_MODEL and OPENAI_API_KEY at the Worker, or in the file .dev.vars on this machine.'}
              </small>
            </span>
          </label>
        )}
        {kind === 'endpoint' && (
          <div className="fields">
            <div className="presets" role="group" aria-label="Presets">
              {modelPresets.map((preset) => (
                <button key={preset.name} type="button" onClick={() => choosePreset(preset)}>
                  {preset.name}
                </button>
              ))}
            </div>
            {chosenPreset && <p className="hint">{chosenPreset.needs}</p>}
            <label>
              Base URL
              <input
                type="url"
                required
                value={baseURL}
                onChange={(event) => {
                  setBaseURL(event.target.value);
                  setApi('chat');
                }}
                placeholder="https://api.openai.com/v1"
              />
            </label>
            <label>
              Model
              <input
                required
                value={name}
                onChange={(event) => setName(event.target.value)}
                placeholder="gpt-5-mini"
                list="models"
                autoCapitalize="off"
                spellCheck={false}
              />
            </label>
            <label>
              Key
              <input
                type="password"
                value={apiKey}
                onChange={(event) => setApiKey(event.target.value)}
                autoComplete="off"
              />
            </label>
            <datalist id="models">
              {tested?.works &&
                tested.models.map((id) => <option key={id} value={id} aria-label={id} />)}
            </datalist>
            <div className="test">
              <button type="button" disabled={isTesting || !baseURL} onClick={() => void test()}>
                Test the connection
              </button>
              <p role="status">{tested && resultOf(tested)}</p>
            </div>
            <p className="hint">
              The key stays in the memory of this page and its worker, and of other tabs with this
              conversation. It is stored nowhere and gone with them: a page that is loaded again
              asks for it.
            </p>
          </div>
        )}
        <div className="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="primary">
            Use this model
          </button>
        </div>
      </form>
    </dialog>
  );
}

function resultOf(tested: Connection): string {
  return tested.works ? `It works: ${tested.models.length} models.` : tested.problem;
}

function offlineOrEdge(kind: 'offline' | 'edge'): ModelChoice {
  return kind === 'offline' ? offlineChoice() : { kind };
}
