import { agentWorker, IndexedDbSessions } from '@isoloop/web-worker';
import { useAgentObject } from '@isoloop/react/object';
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import type { Invitation } from '../invitation.ts';
import { objectPrefix } from './object-prefix.ts';
import { pageParts } from './page-parts.ts';
import { readableError } from './readable-error.ts';
import type { ModelChoice } from './settings.ts';

const letter =
  'Come to dinner on Friday at 19:30 with Ana, Ben and Chika. Please bring bread, two lemons and olive oil. Yours, Dora';

export interface ObjectFormProps {
  readonly worker: Worker;
  readonly model: ModelChoice;
  readonly onClose: () => void;
}

/** Shows a form whose fields fill in while the model writes the object. */
export function ObjectForm({ worker, model, onClose }: ObjectFormProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(letter);
  const [sessionId] = useState(() => `${objectPrefix}${crypto.randomUUID()}`);
  const source = agentWorker(worker, { options: { ...model }, page: pageParts(model) });
  const { object, submit, stop, isBusy, error } = useAgentObject<Invitation>(source, {
    output: 'invitation',
    sessionId,
  });
  useEffect(() => dialog.current?.showModal(), []);
  const close = async (): Promise<void> => {
    await stop();
    await new IndexedDbSessions().delete(sessionId);
    onClose();
  };
  return (
    <dialog
      ref={dialog}
      className="dialog object"
      aria-labelledby="object-title"
      onClose={() => void close()}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(text);
        }}
      >
        <h2 id="object-title">An object that fills in</h2>
        <label>
          Letter
          <textarea rows={4} value={text} onChange={({ target }) => setText(target.value)} />
        </label>
        <div className="filled" aria-busy={isBusy}>
          <Field name="From">{object?.from}</Field>
          <Field name="Day">{object?.day}</Field>
          <Field name="Time">{object?.time}</Field>
          <Field name="Guests">{object?.guests?.join(', ')}</Field>
          <Field name="Bring">{object?.bring?.join(', ')}</Field>
        </div>
        {error && <p role="alert">{readableError(error).title}</p>}
        <div className="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <button type="submit" className="primary" aria-disabled={isBusy}>
            Read it into the form
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface FieldProps {
  readonly name: string;
  readonly children: ReactNode;
}

function Field({ name, children }: FieldProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id}>{name}</label>
      <output id={id}>{children ?? '…'}</output>
    </div>
  );
}
