import {
  useEffect,
  useRef,
  useState,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import type { Draft } from './draft.ts';

export interface ComposerProps {
  readonly busy: boolean;
  readonly draft: Draft;
  /** Absent while nothing can answer. */
  readonly onSend: ((text: string) => void) | undefined;
  readonly onStop: () => void;
  readonly children: ReactNode;
}

export function Composer({ busy, draft, onSend, onStop, children }: ComposerProps) {
  const [text, setText] = useState(draft.read);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, 200)}px`;
  }, [text]);

  const write = (written: string): void => {
    draft.write(written);
    setText(written);
  };
  const send = (): void => {
    if (busy || !onSend || !text.trim()) return;
    onSend(text.trim());
    write('');
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // With an input method, Enter can end the composition of a character. Such an Enter must not
    // send the message. Safari reports it after the composition, with the key code 229.
    if (
      event.key !== 'Enter' ||
      event.shiftKey ||
      event.nativeEvent.isComposing ||
      event.keyCode === 229
    )
      return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="field">
        <label htmlFor="question" className="visually-hidden">
          Your message
        </label>
        <textarea
          id="question"
          ref={field}
          rows={1}
          value={text}
          placeholder="Ask the agent"
          enterKeyHint="send"
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {busy ? (
          <button type="button" className="primary" onClick={onStop}>
            Stop
          </button>
        ) : (
          // Uses `aria-disabled`, because a button with `disabled` would lose the focus when Stop
          // turns into Send.
          <button type="submit" className="primary" aria-disabled={!onSend || !text.trim()}>
            Send
          </button>
        )}
      </div>
      <div className="below">
        <span className="keys">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd>+<kbd>Enter</kbd> breaks the line, <kbd>Esc</kbd>{' '}
          stops
        </span>
        {children}
      </div>
    </form>
  );
}
