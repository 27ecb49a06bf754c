import type { UIMessage } from '@isoloop/react';
import type { ReactNode } from 'react';
import { contextWindow } from '../context-window.ts';
import { Composer } from './composer.tsx';
import type { Draft } from './draft.ts';
import { Messages } from './messages.tsx';
import type { Home } from './settings.ts';
import { Timeline } from './timeline.tsx';
import { TokenGauge } from './token-gauge.tsx';

const none: ReadonlySet<string> = new Set();

export interface StillConversationProps {
  readonly home: Home;
  readonly messages: readonly UIMessage[];
  readonly draft: Draft;
  /** Whether the conversation is about to be replaced. */
  readonly isMoving?: boolean;
  readonly onExample: () => void;
  /** Stands above the messages. */
  readonly stage?: ReactNode;
  /** Stands below the messages. */
  readonly children?: ReactNode;
}

/** Shows a conversation that no agent serves at the moment. The user can write, but not send. */
export function StillConversation(props: StillConversationProps) {
  const { home, messages, draft, isMoving = false, onExample, stage, children } = props;
  return (
    <main className="columns show-chat">
      <section className="chat" aria-label="Conversation">
        {stage}
        <Messages
          home={home}
          messages={messages}
          busy={false}
          isMoving={isMoving}
          waiting={false}
          approvals={[]}
          onExample={onExample}
          onAct={undefined}
          onAgain={undefined}
          onEdit={undefined}
          continued={none}
          logged={[]}
          versions={[]}
          onVersion={() => {}}
        >
          {children}
        </Messages>
        <Composer busy={false} draft={draft} onSend={undefined} isReader onStop={() => {}}>
          <TokenGauge messages={messages} window={contextWindow} />
        </Composer>
      </section>
      <Timeline events={[]} />
    </main>
  );
}
