import type { AgentWorker } from './use-agent-worker.ts';
import type { Home, ModelChoice } from './settings.ts';

export interface StageProps {
  readonly home: Home;
  readonly model: ModelChoice;
  readonly kills: AgentWorker['kills'];
  /** Whether an answer is on its way, so that there is something to kill. */
  readonly isBusy: boolean;
  /** Kills the worker, or the Durable Object. Absent where the page may not kill it. */
  readonly onKill: (() => void) | undefined;
  /** Shows two tabs side by side. Absent in one of these tabs, and at the edge. */
  readonly onTabs: (() => void) | undefined;
  /** Shows or hides the inspector. Absent in one of two tabs. */
  readonly onInspect: (() => void) | undefined;
  readonly onModel: (model: ModelChoice) => void;
  /** Shows the list of conversations. */
  readonly onConversations: () => void;
}

/** Says where the agent runs and which model answers, and has the buttons that disturb it. */
export function Stage(props: StageProps) {
  const { home, model, kills, isBusy, onKill, onTabs, onInspect, onModel, onConversations } = props;
  return (
    <div className="stage">
      <p>
        <strong>
          {home === 'edge' && <span className="long">Durable </span>}
          {home === 'worker' ? 'Worker' : 'Object'} {kills + 1}
          <span className="long">{home === 'worker' ? ' of this tab' : ' at the edge'}</span>
        </strong>{' '}
        <span className="muted">
          {answeredBy(model)}
          {model.kind === 'offline' && (
            <span className="roomy"> It has a few rules. Everything around it is real.</span>
          )}
        </span>
      </p>
      {model.kind === 'offline' && (
        <label className="pace" title="40 tokens a second, and tools that take 1 to 3 seconds">
          <input
            type="checkbox"
            aria-label="As slow as a model"
            checked={model.pace === 'real'}
            onChange={({ target }) =>
              onModel({ kind: 'offline', pace: target.checked ? 'real' : 'fast' })
            }
          />
          <span className="long">As slow as a model</span>
          <span className="short">Slow</span>
        </label>
      )}
      <button type="button" onClick={onConversations} aria-haspopup="dialog">
        <span className="long">Conversations</span>
        <span className="short">Chats</span>
      </button>
      {onTabs && (
        <button type="button" className="wide" onClick={onTabs}>
          Two tabs
        </button>
      )}
      {onInspect && (
        <button type="button" className="wide" onClick={onInspect}>
          Inspect
        </button>
      )}
      {onKill && (
        <button
          type="button"
          className={isBusy && !kills ? 'danger now' : 'danger'}
          onClick={onKill}
        >
          Kill<span className="long"> the {home === 'worker' ? 'worker' : 'edge'}</span>
        </button>
      )}
    </div>
  );
}

function answeredBy(model: ModelChoice): string {
  if (model.kind === 'offline') return 'A stand-in answers.';
  if (model.kind === 'edge') return 'The edge’s model answers.';
  if (model.kind === 'browser') return 'The browser’s own model answers.';
  return `${model.model} answers.`;
}
