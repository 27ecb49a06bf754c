import type { UIMessage } from 'ai';
import { useState, type FormEvent, type ReactNode } from 'react';

export interface ChatViewProps {
  readonly messages: readonly UIMessage[];
  readonly isBusy: boolean;
  readonly error: Error | undefined;
  readonly onSend: (message: { readonly text: string; readonly files?: FileList }) => unknown;
  readonly onEdit: (messageId: string, text: string) => unknown;
  readonly onDecide: (approvalId: string, approved: boolean) => unknown;
  readonly onStop: () => unknown;
  readonly onRetry: () => unknown;
}

/** The chat of both pages: messages, files, tools, approvals, edits, stop and retry. */
export function ChatView({ messages, isBusy, error, ...handlers }: ChatViewProps): ReactNode {
  const [editing, setEditing] = useState<string>();
  const { onSend, onEdit, onDecide, onStop, onRetry } = handlers;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = (form.elements.namedItem('text') as HTMLInputElement).value;
    const files = (form.elements.namedItem('files') as HTMLInputElement).files!;
    if (editing) void onEdit(editing, text);
    else void onSend(files.length ? { text, files } : { text });
    setEditing(undefined);
    form.reset();
  };
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <article key={id}>
          {parts.map((part, index) => (
            <Part key={index} part={part} onDecide={onDecide} />
          ))}
          {role === 'user' && (
            <button className="edit" onClick={() => setEditing(id)}>
              Edit
            </button>
          )}
        </article>
      ))}
      {error && (
        <p role="alert">
          {error.message} <button onClick={onRetry}>Retry</button>
        </p>
      )}
      <form onSubmit={submit}>
        <input name="text" />
        <input name="files" type="file" multiple />
        <button type="submit">Send</button>
        <button type="button" disabled={!isBusy} onClick={onStop}>
          Stop
        </button>
      </form>
    </main>
  );
}

interface PartProps extends Pick<ChatViewProps, 'onDecide'> {
  readonly part: UIMessage['parts'][number];
}

function Part({ part, onDecide }: PartProps): ReactNode {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'file') return <a href={part.url}>{part.filename ?? part.mediaType}</a>;
  if (!('toolCallId' in part)) return null;
  const { state } = part;
  const name = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);
  return (
    <section>
      {name} {state}
      {state === 'approval-requested' && (
        <>
          <button onClick={() => onDecide(part.approval.id, true)}>Approve</button>
          <button onClick={() => onDecide(part.approval.id, false)}>Deny</button>
        </>
      )}
      {state === 'output-available' && <pre>{JSON.stringify(part.output)}</pre>}
    </section>
  );
}
