import { Suspense } from 'react';
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
  if (!isOpen) return null;
  return (
    <Suspense>
      <Dock {...dock} />
    </Suspense>
  );
}
