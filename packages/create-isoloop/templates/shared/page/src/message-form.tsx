import { useEffect, useRef } from 'react';

/** What the user writes: a new message, or the message `messageId` again. */
export interface Draft {
  readonly text: string;
  readonly messageId?: string;
}

interface MessageFormProps {
  readonly draft: Draft;
  readonly isBusy: boolean;
  readonly isLoading: boolean;
  readonly onChange: (draft: Draft) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
}

/**
 * The field for a message, with Send and Stop. A message waits for the end of a running answer. An
 * edited message can be left as it was.
 */
export function MessageForm(props: MessageFormProps) {
  const { draft, isBusy, isLoading, onChange, onSend, onStop } = props;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (draft.messageId !== undefined) field.current?.focus();
  }, [draft.messageId]);
  return (
    <form
      className="message"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <input
        ref={field}
        dir="auto"
        aria-label="Your message"
        placeholder="What time is it in Tokyo?"
        value={draft.text}
        onChange={(event) => onChange({ ...draft, text: event.target.value })}
      />
      <button disabled={isLoading || !draft.text.trim()}>Send</button>
      {draft.messageId !== undefined && (
        <button type="button" onClick={() => onChange({ text: '' })}>
          Cancel
        </button>
      )}
      <button type="button" disabled={!isBusy} onClick={onStop}>
        Stop
      </button>
    </form>
  );
}
