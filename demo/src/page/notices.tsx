import { readableError } from './readable-error.ts';

export interface KeyNoticeProps {
  readonly model: string;
  readonly onModel: () => void;
}

/** Asks for a key that was in the memory of a page that is gone. */
export function KeyNotice({ model, onModel }: KeyNoticeProps) {
  return (
    <div className="notice" role="alert">
      <p>
        <strong>The key of {model} is gone.</strong> The page stores no keys, and the worker keeps
        one only if you say so. Enter the key again, or choose the stand-in. Your conversation is
        kept.
      </p>
      <button type="button" onClick={onModel}>
        Choose the model
      </button>
    </div>
  );
}

export interface ErrorNoticeProps {
  readonly error: unknown;
  /** Address of the model's server, if the page knows it. */
  readonly address: string | undefined;
  readonly onRetry: () => void;
  /** Opens the dialog that chooses the model. */
  readonly onModel: () => void;
}

export function ErrorNotice({ error, address, onRetry, onModel }: ErrorNoticeProps) {
  const { title, fix, detail, code } = readableError(error);
  const isOfModel = code.startsWith('MODEL_');
  return (
    <div className="notice" role="alert">
      <p>
        <strong>{title}</strong> {fix} Your conversation is kept.
      </p>
      {isOfModel && address && (
        <p className="muted">
          Address: <code>{address}</code>
        </p>
      )}
      <details>
        <summary>
          Details <code>{code}</code>
        </summary>
        <p>{detail}</p>
      </details>
      <div className="buttons">
        <button type="button" onClick={onRetry}>
          Try again
        </button>
        {isOfModel && (
          <button type="button" onClick={onModel}>
            Choose the model
          </button>
        )}
      </div>
    </div>
  );
}

/** Says why the conversation has not moved. */
export function MoveNotice({ error }: { readonly error: Error }) {
  const { title, detail } = readableError(error);
  return (
    <div className="notice" role="alert">
      <p>
        <strong>The conversation has not moved.</strong> {title}
      </p>
      <details>
        <summary>Details</summary>
        <p>{detail}</p>
      </details>
    </div>
  );
}
