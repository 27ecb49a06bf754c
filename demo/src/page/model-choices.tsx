import { useEffect, useState } from 'react';
import { browserModelState, type BrowserModelState } from './browser-model-state.ts';

export interface ChoiceProps {
  readonly name: string;
  /** What the model is, and what it needs. */
  readonly says: string;
  readonly isOffered?: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

/** One model to choose, with a line that says what it needs. */
export function Choice({ name, says, isOffered = true, isChosen, onChoose }: ChoiceProps) {
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

export interface ChoicesHereProps {
  /** The chosen kind of model, which may be one that this component does not offer. */
  readonly kind: string;
  readonly onKind: (kind: 'browser' | 'endpoint') => void;
}

/** The models that a page can offer: the browser’s own one, and one at an endpoint. */
export function ChoicesHere({ kind, onKind }: ChoicesHereProps) {
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
