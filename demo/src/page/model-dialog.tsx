import { useEffect, useRef, useState, type FormEvent } from 'react';
import { edgeModels } from './edge-models.ts';
import { EndpointForm, trimmed, type EndpointFields } from './endpoint-fields.tsx';
import { Choice, ChoicesHere, type ChoiceProps } from './model-choices.tsx';
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
  const [fields, omitUndefined] = useState<EndpointFields>(() => ({
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
          name="Offline stand-in"
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
            onChange={(changes) => omitUndefined({ ...fields, ...changes })}
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

function chosen(kind: Kind, fields: EndpointFields): ModelChoice {
  if (kind === 'offline') return offlineChoice();
  if (kind !== 'endpoint') return { kind };
  return { ...trimmed(fields), kind };
}

/** Whether the worker has kept a key for the server in the fields. */
function hasKeptKey(model: ModelChoice, { baseURL }: EndpointFields): boolean {
  return model.kind === 'endpoint' && model.keepsKey && model.baseURL === baseURL;
}
