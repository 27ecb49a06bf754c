import { isToolUIPart, type AgentApproval, type UIMessage } from '@isoloop/react';
import { Suspense, useEffect, useRef, useState, type ComponentType } from 'react';
import { languageOf } from '../offline/language.ts';
import type { Versions } from './branches.ts';
import type { MarkdownTextProps } from './markdown-text.tsx';
import { EditMessage, MessageActions } from './message-actions.tsx';
import { lazyPart } from './lazy-part.tsx';
import { isImported, textOfMessage } from './message-parts.ts';
import { ToolCard } from './tool-card.tsx';
import type { LoggedAnswer } from './use-session-log.ts';
import { VersionSwitch } from './version-switch.tsx';

/**
 * Loads the part that shows Markdown. The page appears before, because it begins without an answer.
 */
export async function loadMarkdown(): Promise<ComponentType<MarkdownTextProps>> {
  return (await import('./markdown-text.tsx')).MarkdownText;
}

const MarkdownText = lazyPart(loadMarkdown, ({ text }) => <p>{text}</p>);

/** Runs an action whose button disappears, and keeps the place of keyboard users. */
export type Leaving = <Args extends readonly unknown[]>(
  act: (...args: Args) => void,
) => (...args: Args) => void;

export interface MessageRowProps {
  readonly message: UIMessage;
  /** Whether an answer is on its way. */
  readonly isBusy: boolean;
  /** Whether this message is on its way. */
  readonly isWriting: boolean;
  readonly isContinued: boolean;
  /** What the log says about the answer that ends with this message. */
  readonly logged: LoggedAnswer | undefined;
  /** Absent if the message has one version only. */
  readonly versions: Versions | undefined;
  readonly approvals: readonly AgentApproval[];
  readonly leaving: Leaving;
  /** Replaces a question and removes all that followed it. */
  readonly onEdit: ((messageId: string, text: string) => void) | undefined;
  /** Shows the conversation with another version of the message. */
  readonly onVersion: (sessionId: string) => void;
}

function rowClass({ message, isContinued, logged }: MessageRowProps): string {
  const classes = ['row', message.role];
  if (logged?.isPartial) classes.push('stopped');
  if (isContinued) classes.push('continued');
  return classes.join(' ');
}

export function MessageRow(props: MessageRowProps) {
  const { message, isBusy, isWriting, isContinued, logged, versions } = props;
  const { onEdit, onVersion } = props;
  const [isEdited, setIsEdited] = useState(false);
  const article = useRef<HTMLElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    // The field had the focus and is gone.
    if (wasEdited.current && !isEdited) article.current?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  const { id, role } = message;
  const text = textOfMessage(message);
  return (
    <div className={rowClass(props)}>
      <article
        ref={article}
        tabIndex={-1}
        className={`message ${role}`}
        aria-label={role === 'user' ? 'You' : 'Assistant'}
      >
        {isEdited ? (
          <EditMessage
            text={text}
            onCancel={() => setIsEdited(false)}
            onSend={(edited) => {
              setIsEdited(false);
              onEdit?.(id, edited);
            }}
          />
        ) : (
          message.parts.map((part, index) => <Part key={index} {...props} part={part} />)
        )}
        {isWriting && role === 'assistant' && <span className="writing" aria-hidden="true" />}
      </article>
      <Captions message={message} isContinued={isContinued} logged={logged} />
      {versions && !isBusy && <VersionSwitch versions={versions} onOpen={onVersion} />}
      {!isBusy && !isEdited && text && (
        <MessageActions
          text={text}
          onEdit={role === 'user' && onEdit ? () => setIsEdited(true) : undefined}
        />
      )}
    </div>
  );
}

/** Says what happened to an answer, and which model wrote it. */
function Captions({
  message,
  isContinued,
  logged,
}: Pick<MessageRowProps, 'message' | 'isContinued' | 'logged'>) {
  return (
    <>
      {isImported(message) && <p className="mark">Imported: the edge has not checked this</p>}
      {isContinued && <p className="mark">Continued from the log</p>}
      {logged?.isPartial && <p className="mark">Stopped</p>}
      {logged?.model && <p className="written">{logged.model}</p>}
    </>
  );
}

interface PartProps extends Pick<MessageRowProps, 'message' | 'approvals' | 'leaving'> {
  readonly part: UIMessage['parts'][number];
}

function Part({ part, message, approvals, leaving }: PartProps) {
  if (part.type === 'text') return <Text text={part.text} isMarkdown={message.role !== 'user'} />;
  if (part.type === 'file') return <FileChip name={part.filename} url={part.url} />;
  if (isToolUIPart(part)) {
    const approval = approvals.find(({ id }) => id === part.toolCallId);
    return (
      <ToolCard
        part={part}
        onAllow={approval && leaving(() => void approval.approve())}
        onDeny={approval && leaving(() => void approval.deny('the user said no'))}
        onEdit={approval && leaving((input: unknown) => void approval.edit(input))}
      />
    );
  }
  if (part.type !== 'reasoning' || !part.text) return null;
  return (
    <details className="thinking">
      <summary>Thinking</summary>
      <Text text={part.text} />
    </details>
  );
}

interface FileChipProps {
  readonly name: string | undefined;
  readonly url: string;
}

function FileChip({ name, url }: FileChipProps) {
  const label = name ?? 'File';
  if (url.startsWith('data:image/')) return <img className="attached" src={url} alt={label} />;
  return <p className="mark">{label}</p>;
}

interface TextProps {
  readonly text: string;
  readonly isMarkdown?: boolean;
}

function Text({ text, isMarkdown = false }: TextProps) {
  // A long answer grows at each update, and its beginning says the language.
  const language = languageOf(text.slice(0, 2_000));
  // Fonts and screen readers treat Han characters differently in Chinese, Japanese and Korean, so
  // these texts need `lang`. All other texts may be in any language.
  const lang = language === 'en' ? undefined : language;
  const plain = (
    <p lang={lang} dir="auto">
      {text}
    </p>
  );
  if (!isMarkdown) return plain;
  return (
    <div lang={lang} dir="auto" className="markdown">
      <Suspense fallback={plain}>
        <MarkdownText text={text} />
      </Suspense>
    </div>
  );
}
