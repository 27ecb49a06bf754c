import type { AgentSessionEntry, AgentSessions } from '@isoloop/react';
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from 'react';
import { isBranch, isVersionOf } from './branches.ts';
import { objectPrefix } from './object-prefix.ts';

export interface ConversationsProps {
  readonly sessions: AgentSessions;
  /** Shows another conversation. Without an id, begins a new one. */
  readonly onOpen: (sessionId?: string) => void;
  readonly onClose: () => void;
}

const dateFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

/** The list of stored conversations, with search, rename and delete. */
export function Conversations({ sessions, onOpen, onClose }: ConversationsProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [wanted, setWanted] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const { list, current } = sessions;
  const listed = (list ?? []).filter(({ sessionId }) => isListed(sessionId));
  const found = listed.filter((entry) => matches(entry, wanted));
  const open = (sessionId?: string): void => {
    dialog.current?.close();
    onOpen(sessionId);
  };
  const remove = async (sessionId: string): Promise<void> => {
    const versions = (list ?? []).filter((entry) => isVersionOf(entry.sessionId, sessionId));
    for (const entry of versions) await sessions.delete(entry.sessionId);
    await sessions.delete(sessionId);
    if (sessionId === current) open();
  };
  return (
    <dialog
      ref={dialog}
      className="dialog conversations"
      aria-labelledby="conversations-title"
      onClose={onClose}
    >
      <h2 id="conversations-title">Conversations</h2>
      <label className="search">
        <span className="visually-hidden">Search titles</span>
        <input
          type="search"
          placeholder="Search titles"
          value={wanted}
          onChange={({ target }) => setWanted(target.value)}
        />
      </label>
      {list && found.length === 0 && (
        <p className="muted">
          {listed.length ? 'No title matches.' : 'No conversation is stored.'}
        </p>
      )}
      <ul>
        {found.map((entry) => (
          <Entry
            key={entry.sessionId}
            entry={entry}
            isCurrent={entry.sessionId === current}
            onOpen={() => open(entry.sessionId)}
            onRename={(title) => void sessions.rename(entry.sessionId, title)}
            onDelete={() => void remove(entry.sessionId)}
          />
        ))}
      </ul>
      <div className="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

interface EntryProps {
  readonly entry: AgentSessionEntry;
  readonly isCurrent: boolean;
  readonly onOpen: () => void;
  readonly onRename: (title: string) => void;
  readonly onDelete: () => void;
}

function Entry({ entry, isCurrent, onOpen, onRename, onDelete }: EntryProps) {
  const [mode, setMode] = useState<'shown' | 'renaming' | 'deleting'>('shown');
  const title = titleOf(entry);
  const isReturning = useRef(false);
  const endRenaming = (): void => {
    isReturning.current = true;
    setMode('shown');
  };
  // The field that had the focus is gone.
  const focusAfterRenaming = (button: HTMLButtonElement | null): void => {
    if (!button || !isReturning.current) return;
    isReturning.current = false;
    button.focus();
  };
  const rename = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const given = String(new FormData(event.currentTarget).get('title')).trim();
    if (given) onRename(given);
    endRenaming();
  };
  const cancel = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.nativeEvent.isComposing) return;
    // Else the dialog would close.
    event.preventDefault();
    endRenaming();
  };
  if (mode === 'renaming') {
    return (
      <li>
        <form onSubmit={rename}>
          <input
            ref={selectText}
            name="title"
            aria-label="Title"
            defaultValue={title}
            onKeyDown={cancel}
          />
          <button type="submit">Save</button>
        </form>
      </li>
    );
  }
  return (
    <li aria-current={isCurrent}>
      <button type="button" className="title" onClick={onOpen}>
        {title}
        <small>{dateFormat.format(new Date(entry.updatedAt))}</small>
      </button>
      <button
        ref={focusAfterRenaming}
        type="button"
        aria-label={`Rename ${title}`}
        onClick={() => setMode('renaming')}
      >
        Rename
      </button>
      {mode === 'deleting' ? (
        <button type="button" className="danger" onClick={onDelete}>
          Delete it
        </button>
      ) : (
        <button type="button" aria-label={`Delete ${title}`} onClick={() => setMode('deleting')}>
          Delete
        </button>
      )}
    </li>
  );
}

function selectText(field: HTMLInputElement | null): void {
  field?.select();
}

/** Whether a session is a conversation of its own, and not the earlier state of another one. */
function isListed(sessionId: string): boolean {
  return !sessionId.startsWith(objectPrefix) && !isBranch(sessionId);
}

function titleOf({ title }: AgentSessionEntry): string {
  return title ?? 'Untitled';
}

function matches(entry: AgentSessionEntry, wanted: string): boolean {
  return titleOf(entry).toLowerCase().includes(wanted.trim().toLowerCase());
}
