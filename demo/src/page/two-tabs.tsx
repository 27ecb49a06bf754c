import { useState } from 'react';

const names = ['A', 'B'] as const;

export interface TwoTabsProps {
  readonly onClose: () => void;
}

/**
 * Shows two tabs of the same conversation side by side: frames of this page, each with its own
 * worker. One of them runs the agent for both.
 */
export function TwoTabs({ onClose }: TwoTabsProps) {
  const [open, setOpen] = useState<readonly string[]>(names);
  const close = (name: string): void => {
    const left = open.filter((other) => other !== name);
    if (left.length) setOpen(left);
    else onClose();
  };
  return (
    <main className="two-tabs">
      <div className="hint">
        <div>
          <h1>Two tabs, one conversation, one run</h1>
          <p>Ask in one tab and close it while the answer runs: the other tab takes over.</p>
        </div>
        <button ref={focus} type="button" onClick={onClose}>
          Back to one tab
        </button>
      </div>
      <div className="frames">
        {open.map((name) => (
          <section key={name} aria-label={`Tab ${name}`}>
            <header>
              <h2>Tab {name}</h2>
              <button type="button" onClick={() => close(name)}>
                Close tab {name}
              </button>
            </header>
            {/* oxlint-disable-next-line react/iframe-missing-sandbox -- It is this page itself, with its storage. */}
            <iframe src={frameUrl(name)} title={`Tab ${name}`} />
          </section>
        ))}
      </div>
    </main>
  );
}

/** The button that opened the tabs is gone, and had the focus. */
function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}

/** Name of the tab, if this page is one of the two tabs. */
export function frameName(): string | undefined {
  return new URLSearchParams(location.search).get('frame') ?? undefined;
}

function frameUrl(name: string): string {
  const query = new URLSearchParams(location.search);
  query.set('frame', name);
  return `?${query}`;
}
