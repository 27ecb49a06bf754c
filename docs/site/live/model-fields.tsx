import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  EndpointForm,
  trimmed,
  type EndpointFields,
  type EndpointFormProps,
} from '../../../demo/src/page/endpoint-fields.tsx';
import { Choice, ChoicesHere } from '../../../demo/src/page/model-choices.tsx';
import type { ChosenModel } from './chosen-model.ts';
import { labels } from './labels.ts';

export interface ModelFields {
  readonly node: HTMLElement;
  /** Returns the reader's model, or `undefined` for the replies of the setup. */
  chosen(): ChosenModel | undefined;
}

export type ModelFieldsOptions = Required<Pick<EndpointFormProps, 'origin' | 'onTest'>>;

/** Creates the demo's fields with which a reader uses a model in place of the scripted replies. */
export function modelFields(options: ModelFieldsOptions): ModelFields {
  const node = document.createElement('fieldset');
  node.className = 'live-model not-content';
  let chosen: ChosenModel | undefined;
  const fields = <Fields {...options} onChoose={(model) => (chosen = model)} />;
  createRoot(node).render(fields);
  return { node, chosen: () => chosen };
}

interface FieldsProps extends ModelFieldsOptions {
  readonly onChoose: (model: ChosenModel | undefined) => void;
}

function Fields({ onChoose, ...rest }: FieldsProps) {
  const [kind, setKind] = useState<'scripted' | ChosenModel['kind']>('scripted');
  const [fields, setFields] = useState(noEndpoint);
  const choose = (nextKind: typeof kind, next: EndpointFields): void => {
    setKind(nextKind);
    setFields(next);
    if (nextKind === 'endpoint') onChoose({ kind: nextKind, ...trimmed(next) });
    else onChoose(nextKind === 'browser' ? { kind: nextKind } : undefined);
  };
  return (
    <>
      <legend>{labels.model}</legend>
      <Choice
        name={labels.scripted}
        says={labels.scriptedSays}
        isChosen={kind === 'scripted'}
        onChoose={() => choose('scripted', fields)}
      />
      <ChoicesHere kind={kind} onKind={(next) => choose(next, fields)} />
      {kind === 'endpoint' && (
        <EndpointForm
          {...rest}
          fields={fields}
          keyHint={labels.keyHint}
          onChange={(changes) => choose(kind, { ...fields, ...changes })}
        />
      )}
    </>
  );
}

const noEndpoint: EndpointFields = {
  baseURL: '',
  model: '',
  apiKey: '',
  keepsKey: false,
  api: 'chat',
};
