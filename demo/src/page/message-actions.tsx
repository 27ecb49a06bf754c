import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from 'react';
import { isSendKey } from './send-key.ts';

export interface MessageActionsProps {
  readonly text: string;
  /** Begins to edit the message. Absent for answers. */
  readonly onEdit: (() => void) | undefined;
}

/** How long the button says that the text was copied, in milliseconds. */
const copiedMs = 1_500;

/** The buttons below a message. */
export function MessageActions({ text, onEdit }: MessageActionsProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="message-actions">
      <button type="button" onClick={() => void copy()}>
        {copied ? 'Copied' : 'Copy'}
      </button>
      {onEdit && (
        <button type="button" onClick={onEdit}>
          Edit
        </button>
      )}
    </div>
  );
}

export interface EditMessageProps {
  readonly text: string;
  /** Sends the message again and removes all that followed it. */
  readonly onSend: (text: string) => void;
  readonly onCancel: () => void;
}

export function EditMessage({ text, onSend, onCancel }: EditMessageProps) {
  const [edited, setEdited] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: FormEvent | KeyboardEvent): void => {
    event.preventDefault();
    if (edited.trim()) onSend(edited.trim());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (isSendKey(event)) submit(event);
    if (event.key === 'Escape' && !event.nativeEvent.isComposing) onCancel();
  };
  return (
    <form className="edit-message" onSubmit={submit}>
      <textarea
        ref={field}
        aria-label="Edited message"
        rows={3}
        dir="auto"
        value={edited}
        onChange={({ target }) => setEdited(target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="buttons">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="primary" aria-disabled={!edited.trim()}>
          Send again
        </button>
      </div>
    </form>
  );
}
