import {
  useEffect,
  useRef,
  useState,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import { AttachmentList, useAttachments } from './attachments.tsx';
import type { Draft } from './draft.ts';
import { isSendKey } from './send-key.ts';
import { frameName } from './two-tabs.tsx';

export interface ComposerProps {
  readonly busy: boolean;
  readonly draft: Draft;
  /** Absent while nothing can answer. */
  readonly onSend: ((text: string, files: readonly File[]) => void) | undefined;
  /** Whether the model reads files. */
  readonly isReader: boolean;
  readonly onStop: () => void;
  readonly children: ReactNode;
}

export function Composer(props: ComposerProps) {
  const { busy, draft, onSend, isReader, onStop, children } = props;
  const [text, setText] = useState(draft.read);
  const field = useRef<HTMLTextAreaElement>(null);
  const attachments = useAttachments(isReader);
  const { files } = attachments;
  const canSend = onSend !== undefined && (text.trim() !== '' || files.length > 0);
  useEffect(() => {
    if (takesFocus()) field.current?.focus();
  }, []);
  useEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, 200)}px`;
  }, [text]);

  /**
   * Button that the keyboard has reached. It may disappear when it is pressed or an answer ends.
   */
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (place.current?.isConnected !== false) return;
    place.current = null;
    field.current?.focus();
  }, [busy, canSend]);

  const write = (written: string): void => {
    draft.write(written);
    setText(written);
  };
  const send = (): void => {
    if (!onSend || !canSend) return;
    onSend(text.trim(), files);
    attachments.clear();
    write('');
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isSendKey(event)) return;
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
      <AttachmentList {...attachments} />
      <div
        className="field"
        onFocus={({ target }) => {
          place.current = target.matches(':focus-visible') ? target : null;
        }}
        onBlur={() => {
          place.current = null;
        }}
      >
        <label htmlFor="question" className="visually-hidden">
          Your message
        </label>
        <textarea
          id="question"
          ref={field}
          rows={1}
          dir="auto"
          value={text}
          placeholder={isReader ? 'Ask the agent' : 'Ask for a time or a sum'}
          enterKeyHint="send"
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={attachments.onPaste}
        />
        {busy && (
          <button type="button" className={canSend ? undefined : 'primary'} onClick={onStop}>
            Stop
          </button>
        )}
        {(!busy || canSend) && (
          // Uses `aria-disabled`, because a button with `disabled` would lose the focus.
          <button type="submit" className="primary" aria-disabled={!canSend}>
            {busy ? 'Send next' : 'Send'}
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

/**
 * Whether the message field takes the focus when it appears. With a finger it would open the
 * keyboard of the screen; in a frame, or while something else has the focus, it would steal it.
 */
function takesFocus(): boolean {
  const isFree = document.activeElement === document.body;
  return isFree && frameName() === undefined && matchMedia('(pointer: fine)').matches;
}
