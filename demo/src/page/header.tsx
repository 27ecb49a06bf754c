import type { Home, ModelChoice } from './settings.ts';
import { currentTheme, type Theme } from './theme.ts';

export interface HeaderProps {
  readonly home: Home;
  readonly model: ModelChoice;
  readonly onHome: (home: Home) => void;
  readonly onTheme: (theme: Theme) => void;
  readonly onModel: () => void;
  readonly onNew: () => void;
}

const homes = [
  { home: 'worker', label: 'In this tab’s worker', short: 'This tab' },
  { home: 'edge', label: 'At the edge', short: 'Edge' },
] as const;

export function Header({ home, model, onHome, onTheme, onModel, onNew }: HeaderProps) {
  return (
    <header className="header">
      <div className="brand">
        <h1>Isoloop</h1>
        <p>An AI agent in your tab or at the edge, every step in view.</p>
      </div>
      <fieldset className="homes">
        <legend className="visually-hidden">Where the agent runs</legend>
        {homes.map(({ home: value, label, short }) => (
          <label key={value} className={value === home ? 'chosen' : ''}>
            <input
              type="radio"
              name="home"
              checked={value === home}
              onChange={() => onHome(value)}
              aria-label={label}
            />
            <span className="long">{label}</span>
            <span className="short">{short}</span>
          </label>
        ))}
      </fieldset>
      <div className="actions">
        <a href="/docs/">Docs</a>
        <button
          type="button"
          className="model"
          onClick={onModel}
          aria-haspopup="dialog"
          aria-label={`Model: ${modelName(model)}`}
          title={model.kind === 'offline' ? standInTitle : undefined}
        >
          <span className="muted">Model</span> {modelName(model)}
        </button>
        <button
          type="button"
          onClick={({ currentTarget }) => {
            // Leaves the focus to the message field of the new conversation.
            currentTarget.blur();
            onNew();
          }}
          aria-label="New conversation"
        >
          New <span className="long">conversation</span>
        </button>
        <button
          type="button"
          className="icon"
          onClick={() => onTheme(currentTheme() === 'dark' ? 'light' : 'dark')}
          aria-label="Switch light and dark"
        >
          <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
            <circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" strokeWidth="1.6" />
            <path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" />
          </svg>
        </button>
      </div>
    </header>
  );
}

const standInTitle = 'A few rules answer, without a network. Choose a real model here.';

function modelName(model: ModelChoice): string {
  if (model.kind === 'offline') return 'stand-in';
  if (model.kind === 'edge') return 'the edge’s';
  if (model.kind === 'browser') return 'the browser’s';
  return model.kind === 'locked' ? `${model.model}, key needed` : model.model;
}
