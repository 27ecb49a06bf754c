import { lazy, type ComponentType, type LazyExoticComponent } from 'react';

/**
 * Returns a component that is loaded at its first use. If that fails, for example without a
 * network, shows `Missing` instead. Without it, React would remove the whole page.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Missing: ComponentType<Props>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => ({ default: await load().catch(() => Missing) }));
}

/** Stands in for a part of the page that could not be loaded. */
export function MissingPart({ onClose }: { readonly onClose: () => void }) {
  return (
    <div className="notice" role="alert">
      <p>
        <strong>This part of the page could not be loaded.</strong> Reload the page when you are
        online. Your conversation is kept.
      </p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </div>
  );
}
