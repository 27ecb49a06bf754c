import { readableError } from './readable-error.ts';

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
