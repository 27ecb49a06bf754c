import { Suspense, useEffect } from 'react';
import type { InspectorDockProps } from './inspector-dock.tsx';
import { lazyPart, MissingPart } from './lazy-part.tsx';

/** Loaded when somebody asks for it. */
const Dock = lazyPart<InspectorDockProps>(
  async () => (await import('./inspector-dock.tsx')).InspectorDock,
  MissingPart,
);

export interface InspectorProps extends InspectorDockProps {
  readonly isOpen: boolean;
}

/** Shows the inspector while it is open. */
export function Inspector({ isOpen, ...dock }: InspectorProps) {
  return isOpen && <OpenInspector {...dock} />;
}

function OpenInspector(dock: InspectorDockProps) {
  // The button that closes the inspector disappears with it, so the focus goes back.
  useEffect(() => {
    const opener = document.activeElement;
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <Suspense>
      <Dock {...dock} />
    </Suspense>
  );
}
