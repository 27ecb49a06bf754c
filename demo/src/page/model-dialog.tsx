import { useEffect, useRef, useState, type FormEvent } from 'react';
import { browserModelState, type BrowserModelState } from './browser-model-state.ts';
import { edgeModels } from './edge-models.ts';
import { EndpointForm, type EndpointFields } from './endpoint-fields.tsx';
import { offlineChoice, type Home, type ModelChoice, type Settings } from './settings.ts';

export interface ModelDialogProps {
  readonly home: Home;
  readonly model: ModelChoice;
  readonly endpoint: Settings['endpoint'];
  readonly onClose: () => void;
  readonly onChoose: (model: ModelChoice) => void;
}

type Kind = Exclude<ModelChoice['kind'], 'locked'>;

export function ModelDialog({ home, model, endpoint, onClose, onChoose }: ModelDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [kind, setKind] = useState<Kind>(model.kind === 'locked' ? 'endpoint' : model.kind);
  const [fields, setFields] = useState<EndpointFields>(() => ({
    ...endpoint,
    apiKey: model.kind === 'endpoint' ? model.apiKey : '',
    keepsKey: model.kind === 'endpoint' && model.keepsKey,
  }));
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChoose(chosen(kind, fields));
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
        <Choice
          name="Offline rules"
          isChosen={kind === 'offline'}
          onChoose={() => setKind('offline')}
          says="A rule-based stand-in for a language model; everything around it is real. No key, no network."
        />
        {home === 'worker' ? (
          <ChoicesHere kind={kind} onKind={setKind} />
        ) : (
          <ChoiceAtEdge isChosen={kind === 'edge'} onChoose={() => setKind('edge')} />
        )}
        {kind === 'endpoint' && (
          <EndpointForm
            fields={fields}
            onChange={(changes) => setFields({ ...fields, ...changes })}
            isKeyKept={hasKeptKey(model, fields)}
          />
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

interface ChoicesHereProps {
  readonly kind: Kind;
  readonly onKind: (kind: Kind) => void;
}

function ChoicesHere({ kind, onKind }: ChoicesHereProps) {
  const [state, setState] = useState<BrowserModelState>();
  useEffect(() => {
    let isCurrent = true;
    void browserModelState().then((found) => isCurrent && setState(found));
    return () => {
      isCurrent = false;
    };
  }, []);
  return (
    <>
      <Choice
        name="The browser’s own model"
        isOffered={state?.works ?? false}
        isChosen={kind === 'browser'}
        onChoose={() => onKind('browser')}
        says={state?.says ?? 'Asking the browser …'}
      />
      <Choice
        name="OpenAI-compatible endpoint"
        isChosen={kind === 'endpoint'}
        onChoose={() => onKind('endpoint')}
        says="Any chat-completions server that allows requests from this page (CORS)."
      />
    </>
  );
}

function ChoiceAtEdge({ isChosen, onChoose }: Pick<ChoiceProps, 'isChosen' | 'onChoose'>) {
  const [hasModel, setHasModel] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    void edgeModels().then((models) => isCurrent && setHasModel(models.includes('edge')));
    return () => {
      isCurrent = false;
    };
  }, []);
  return (
    <Choice
      name="The edge’s model"
      isOffered={hasModel}
      isChosen={isChosen}
      onChoose={onChoose}
      says={
        hasModel
          ? 'The model that OPENAI_MODEL names at the Worker. Its key never leaves the Worker.'
          : 'No model is set. Set OPENAI_MODEL and OPENAI_API_KEY at the Worker, or in the file .dev.vars on this machine.'
      }
    />
  );
}

interface ChoiceProps {
  readonly name: string;
  /** What the model is, and what it needs. */
  readonly says: string;
  readonly isOffered?: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function Choice({ name, says, isOffered = true, isChosen, onChoose }: ChoiceProps) {
  return (
    <label className="choice">
      <input
        type="radio"
        name="kind"
        disabled={!isOffered}
        checked={isChosen}
        onChange={onChoose}
      />
      <span>
        <strong>{name}</strong>
        <small>{says}</small>
      </span>
    </label>
  );
}

function chosen(kind: Kind, fields: EndpointFields): ModelChoice {
  if (kind === 'offline') return offlineChoice();
  if (kind !== 'endpoint') return { kind };
  return {
    ...fields,
    kind,
    baseURL: fields.baseURL.trim().replace(/\/+$/, ''),
    model: fields.model.trim(),
    apiKey: fields.apiKey.trim(),
  };
}

/** Whether the worker has kept a key for the server in the fields. */
function hasKeptKey(model: ModelChoice, { baseURL }: EndpointFields): boolean {
  return model.kind === 'endpoint' && model.keepsKey && model.baseURL === baseURL;
}
