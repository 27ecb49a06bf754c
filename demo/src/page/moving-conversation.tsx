import type { Draft } from './draft.ts';
import type { Home } from './settings.ts';
import type { ShownMessages } from './shown-messages.ts';
import { StillConversation } from './still-conversation.tsx';

export interface MovingConversationProps {
  readonly home: Home;
  readonly sessionId: string;
  readonly shown: ShownMessages;
  readonly draft: Draft;
}

/** Shows a conversation while it moves to another place. */
export function MovingConversation({ home, sessionId, shown, draft }: MovingConversationProps) {
  return (
    <StillConversation
      home={home}
      messages={shown.read(sessionId) ?? []}
      draft={draft}
      isMoving
      onExample={() => {}}
      stage={
        <div className="stage">
          <p role="status">
            <strong>Moving the conversation …</strong>{' '}
            <span className="muted">Its open tool calls come along.</span>
          </p>
        </div>
      }
    />
  );
}
