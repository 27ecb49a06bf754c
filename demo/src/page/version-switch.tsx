import type { Versions } from './branches.ts';

export interface VersionSwitchProps {
  readonly versions: Versions;
  readonly onOpen: (sessionId: string) => void;
}

/** Shows which version of a message this is, and leads to the previous and the next one. */
export function VersionSwitch({ versions, onOpen }: VersionSwitchProps) {
  const { current, sessions } = versions;
  const step = (by: number, label: string, sign: string) => {
    const target = sessions[current + by];
    return (
      <button
        type="button"
        aria-label={label}
        aria-disabled={target === undefined}
        onClick={() => target !== undefined && onOpen(target)}
      >
        <span aria-hidden="true">{sign}</span>
      </button>
    );
  };
  return (
    <div className="versions" role="group" aria-label="Versions of this message" dir="ltr">
      {step(-1, 'Previous version', '‹')}
      <span>
        {current + 1} / {sessions.length}
      </span>
      {step(1, 'Next version', '›')}
    </div>
  );
}
