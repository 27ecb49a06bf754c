import { lazy, Suspense } from 'react';
import type { InspectorDockProps } from './inspector-dock.tsx';

/** Loaded when somebody asks for it. */
const Dock = lazy(async () => ({
  default: (await import('./inspector-dock.tsx')).InspectorDock,
}));

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
