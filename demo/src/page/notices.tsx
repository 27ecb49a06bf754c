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
        one only if you say so. Enter the key again, or choose the offline rules. Your conversation
        is kept.
      </p>
      <button type="button" onClick={onModel}>
        Choose the model
      </button>
    </div>
  );
}

export interface ErrorNoticeProps {
  readonly error: unknown;
  readonly onRetry: () => void;
}

export function ErrorNotice({ error, onRetry }: ErrorNoticeProps) {
  const { title, detail, code } = readableError(error);
  return (
    <div className="notice" role="alert">
      <p>
        <strong>{title}</strong> Your conversation is kept.
      </p>
      <details>
        <summary>
          Details <code>{code}</code>
        </summary>
        <p>{detail}</p>
      </details>
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}
